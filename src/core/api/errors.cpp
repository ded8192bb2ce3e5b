// SPDX-License-Identifier: BSD-3-Clause
#include "core/api/errors.hpp"

#include "core/mpi/calls.hpp"
#include "core/mpi/error_code.hpp"

#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <exception>
#include <string>
#include <string_view>

namespace thence::api {

namespace {

constexpr std::size_t count = static_cast<std::size_t>(reason::count_);

constexpr std::array<error_row, count> rows = {{
    {reason::null_cr, MPI_ERR_ARG, "{cr} is null"},
    {reason::no_cr, MPI_ERR_REQUEST, "{cr} is no continuation request, but MPI_REQUEST_NULL or a request of MPI's own"},
    {reason::freed_cr, MPI_ERR_REQUEST, "{cr} is a continuation request that was freed"},
    {reason::started_already, MPI_ERR_REQUEST, "{cr} is a continuation request that is started already"},
    {reason::cr_twice, MPI_ERR_REQUEST, "{cr} is a continuation request that is there twice"},
    {reason::unknown_cr_flags, MPI_ERR_ARG, "flags has bits that are no option of a continuation request"},
    {reason::max_poll_too_small, MPI_ERR_ARG, "max_poll is below -1"},
    {reason::forum_max_poll_negative, MPI_ERR_ARG, "max_poll is negative and not MPI_UNDEFINED"},
    {reason::bad_info, MPI_ERR_INFO_VALUE, "info has a value that this key does not take"},
    {reason::nothing_runs, MPI_ERR_INFO_VALUE, "max_poll is 0 together with poll-only: no continuation could ever run"},
    {reason::too_many_crs, MPI_ERR_NO_MEM, "65536 continuation requests exist"},
    {reason::no_helper, MPI_ERR_UNSUPPORTED_OPERATION,
     "THENCE_CR_ANY_THREAD needs the helper thread, which cannot run"},
    {reason::mpi_inactive, MPI_ERR_OTHER, "called before MPI_Init or after MPI_Finalize"},
    {reason::too_many_sources, MPI_ERR_OTHER, "8 sources of progress are registered already"},
    {reason::negative_count, MPI_ERR_ARG, "count is negative"},
    {reason::null_requests, MPI_ERR_ARG, "{requests} is null"},
    {reason::null_callback, MPI_ERR_ARG, "{callback} is null"},
    {reason::null_flag_of_attach, MPI_ERR_ARG, "flag is null without {THENCE_CR_ENQUEUE_COMPLETE or THENCE_MAY_RUN}"},
    {reason::null_outcount, MPI_ERR_ARG, "outcount is null without THENCE_CR_ENQUEUE_COMPLETE or THENCE_MAY_RUN"},
    {reason::null_indices, MPI_ERR_ARG, "indices is null without THENCE_CR_ENQUEUE_COMPLETE or THENCE_MAY_RUN"},
    {reason::null_data_to_copy, MPI_ERR_ARG, "data is null although size is not 0"},
    {reason::unknown_flags, MPI_ERR_ARG, "flags has bits that are no option of a continuation"},
    {reason::cr_among_requests, MPI_ERR_REQUEST, "{cr} is in {requests}, and would wait for itself"},
    {reason::freed_cr_among_requests, MPI_ERR_REQUEST, "{requests} has a continuation request that was freed"},
    {reason::attached_already, MPI_ERR_REQUEST, "{requests} has a copy of a request that is attached already"},
    {reason::null_flag, MPI_ERR_ARG, "flag is null"},
    {reason::null_request, MPI_ERR_ARG, "request is null"},
    {reason::waits_for_itself, MPI_ERR_PENDING,
     "called inside a callback, and only the return of that callback lets the remaining continuations run"},
    {reason::null_count, MPI_ERR_ARG, "count is null"},
    {reason::negative_capacity, MPI_ERR_ARG, "the capacity in count is negative"},
    {reason::null_data, MPI_ERR_ARG, "{data} is null although the capacity in count is not 0"},
    {reason::null_info, MPI_ERR_ARG, "info is null"},
    {reason::size_too_small, MPI_ERR_ARG, "size is smaller than the first version of the struct: pass its sizeof"},
    {reason::null_events, MPI_ERR_ARG, "events is null"},
    {reason::null_completed, MPI_ERR_ARG, "the function to call at completion is null"},
    {reason::no_events, MPI_ERR_ARG,
     "no event is outstanding: the owner's function has been called already, or the counter was never initialized"},
    {reason::too_many_events, MPI_ERR_ARG, "more than 2^64 - 1 events would be outstanding"},
    {reason::too_few_events, MPI_ERR_ARG, "fewer events are outstanding than are to be lowered"},
    {reason::only_persistent, MPI_ERR_ARG, "flags has bits other than THENCE_PERSISTENT"},
    {reason::null_runtime, MPI_ERR_ARG, "runtime is null"},
    {reason::runtime_without_current, MPI_ERR_ARG, "the table has no name, or no function current"},
    {reason::runtime_with_half, MPI_ERR_ARG,
     "the table has one of block and unblock, or one of raise_events and lower_events, without the other"},
    {reason::too_many_runtimes, MPI_ERR_NO_MEM, "8 task runtimes are added already"},
    {reason::runtime_added_already, MPI_ERR_ARG, "the task runtime is added already"},
    {reason::runtime_not_added, MPI_ERR_ARG, "the task runtime is not added"},
    {reason::negative_index, MPI_ERR_ARG, "index is negative"},
    {reason::null_task, MPI_ERR_ARG, "task is null, or has no runtime or handle"},
    {reason::no_task, MPI_ERR_UNSUPPORTED_OPERATION, "called outside of the tasks of every runtime that is added"},
    {reason::runtime_without_events, MPI_ERR_UNSUPPORTED_OPERATION, "this task runtime has no events"},
    {reason::runtime_without_blocking, MPI_ERR_UNSUPPORTED_OPERATION, "this task runtime cannot block a task"},
    {reason::events_refused, MPI_ERR_OTHER, "the task runtime did not raise the events of the task"},
    {reason::blocks_in_callback, MPI_ERR_PENDING,
     "called inside a callback, where no other continuation can run on this thread"},
    {reason::cr_not_run, MPI_ERR_ARG,
     "the continuation request is poll-only or needs a start, so a blocked task would wait for a test or start of it"},
    {reason::no_body, MPI_ERR_ARG, "no body of a detached task has begun on this thread"},
    {reason::null_paused, MPI_ERR_ARG, "paused is null"},
    {reason::body_not_ended, MPI_ERR_ARG,
     "the body of a detached task that has begun on this thread since the pause has not ended"},
    {reason::null_datatype, MPI_ERR_TYPE, "it is MPI_DATATYPE_NULL"},
    {reason::unknown_combiner, MPI_ERR_UNSUPPORTED_OPERATION,
     "it was made by a constructor that is in no MPI up to 5.0"},
    {reason::type_too_large, MPI_ERR_TYPE, "one element has 2^63 bytes or more"},
    {reason::type_too_deep, MPI_ERR_TYPE, "it is nested more than 1000 levels deep"},
    {reason::negative_element_count, MPI_ERR_COUNT, "the number of elements is negative"},
    {reason::too_many_bytes, MPI_ERR_COUNT, "so many elements have 2^63 bytes or more"},
    {reason::max_iov_bytes_too_small, MPI_ERR_ARG, "max_iov_bytes is below -1"},
    {reason::negative_iov_offset, MPI_ERR_ARG, "iov_offset is negative"},
    {reason::negative_max_iov_len, MPI_ERR_ARG, "max_iov_len is negative"},
    {reason::null_iov, MPI_ERR_ARG, "iov is null although max_iov_len is not 0"},
    {reason::null_iov_result, MPI_ERR_ARG, "a pointer to a result is null"},
    {reason::null_layout, MPI_ERR_ARG, "layout is null"},
    {reason::copy_truncated, MPI_ERR_TRUNCATE, "the source has more bytes than fit; those that fit have been copied"},
    {reason::not_interposed, MPI_ERR_UNSUPPORTED_OPERATION,
     "libthence is not linked (libthence-core alone interposes no call of MPI)"},
    {reason::no_memory, MPI_ERR_NO_MEM, "memory is exhausted; nothing has changed"},
    {reason::unknown_gpu_type, MPI_ERR_ARG, "gpu_type is no kind of device memory"},
    {reason::null_is_supported, MPI_ERR_ARG, "is_supported is null"},
    {reason::null_stream, MPI_ERR_ARG, "stream is null"},
    {reason::no_stream, MPI_ERR_ARG, "stream is no stream of this library"},
    {reason::null_comm, MPI_ERR_COMM, "comm is MPI_COMM_NULL"},
    {reason::null_newcomm, MPI_ERR_ARG, "newcomm is null"},
    {reason::stream_has_communicators, MPI_ERR_OTHER, "communicators of the stream exist"},
    {reason::stream_has_work, MPI_ERR_PENDING, "enqueued operations of the stream are outstanding"},
    {reason::stream_refused_by_mpi, MPI_ERR_OTHER, "MPI does not free its own stream"},
    {reason::bad_hex, MPI_ERR_INFO_VALUE, "value is not the hexadecimal text of a handle of this type"},
    {reason::bad_native, MPI_ERR_INFO_VALUE, "native is neither true nor false"},
    {reason::unusable_queue, MPI_ERR_UNSUPPORTED_OPERATION, "the process cannot use such a queue"},
    {reason::bad_queue_table, MPI_ERR_ARG,
     "the table of the queue is null, too small, or lacks launch, wait or what needs_copy needs"},
    {reason::too_many_streams, MPI_ERR_NO_MEM, "16777216 streams exist, or memory is exhausted"},
    {reason::null_mpi_info, MPI_ERR_INFO, "info is MPI_INFO_NULL"},
    {reason::null_key, MPI_ERR_ARG, "key is null"},
    {reason::null_value, MPI_ERR_ARG, "value is null, or value_size is negative"},
    {reason::hex_too_long, MPI_ERR_INFO_VALUE, "the text is longer than MPI_MAX_INFO_VAL"},
    {reason::no_queue, MPI_ERR_OTHER, "comm has no stream with a queue"},
    {reason::stream_without_queue, MPI_ERR_OTHER, "stream has no queue"},
    {reason::queue_refused, MPI_ERR_OTHER, "the queue refused to take the operation"},
    {reason::null_start, MPI_ERR_ARG, "start is null"},
    {reason::no_enqueued_request, MPI_ERR_REQUEST,
     "the request is not that of an enqueued operation, or was waited for already"},
    {reason::mixed_requests, MPI_ERR_REQUEST, "the requests are not all of one queue, or one is there twice"},
    {reason::count_too_large, MPI_ERR_COUNT, "count does not fit an int, and this MPI has no large counts"},
    {reason::no_large_counts, MPI_ERR_UNSUPPORTED_OPERATION, "this MPI has no large counts"},
    {reason::no_copy_of_such, MPI_ERR_UNSUPPORTED_OPERATION,
     "MPI does not take buffers in device memory, and those of this operation are not copied"},
    {reason::null_error, MPI_ERR_ARG, "error is null"},
    {reason::null_query_fn, MPI_ERR_ARG, "query_fn is null"},
    {reason::null_free_fn, MPI_ERR_ARG, "free_fn is null"},
    {reason::null_cancel_fn, MPI_ERR_ARG, "cancel_fn is null"},
    {reason::unknown_poll_flags, MPI_ERR_ARG, "flags has bits other than THENCE_POLL_CALLS_NO_MPI"},
    {reason::null_greq_class, MPI_ERR_ARG, "greq_class is null"},
    {reason::no_greq_class, MPI_ERR_ARG, "greq_class is no class of generalized requests, or was freed"},
    {reason::null_poll_fn, MPI_ERR_ARG, "poll_fn is null"},
    {reason::null_async_thing, MPI_ERR_ARG, "async_thing is null"},
    {reason::no_progress_thread, MPI_ERR_UNSUPPORTED_OPERATION, "the thread that makes progress cannot run"},
}};

constexpr bool in_order() {
    for (std::size_t i = 0; i < count; ++i) {
        if (rows[i].why != static_cast<reason>(i)) {
            return false;
        }
    }
    return true;
}
static_assert(in_order());

// The name in this call of an argument of thence.h.
std::string name_in(const public_call &call, std::string_view of) {
    const auto other = std::ranges::find(call.renamed, of, &renamed_argument::in_thence_h);
    std::string name(other != call.renamed.end() ? other->name : of);
    if (of == "cr" && call.index >= 0) {
        name.append("[").append(std::to_string(call.index)).append("]");
    }
    return name;
}

std::string text_of(reason why, const public_call &call) {
    std::string_view rest = row(why).text;
    std::string text;
    for (std::size_t open = rest.find('{'); open != rest.npos; open = rest.find('{')) {
        const std::size_t close = rest.find('}', open);
        text.append(rest.substr(0, open)).append(name_in(call, rest.substr(open + 1, close - open - 1)));
        rest.remove_prefix(close + 1);
    }
    return text.append(rest);
}

// `before`, `after`: what the text has before and behind the reason; may be null.
int report(const public_call &call, const char *before, reason why, const char *after) noexcept {
    try {
        std::string text(call.name);
        if (before != nullptr) {
            text.append(": ").append(before);
        }
        text.append(": ").append(text_of(why, call));
        if (after != nullptr) {
            text.append(": ").append(after);
        }
        return mpi::report(row(why).error_class, text);
    } catch (const std::exception &) { // no memory
        return mpi::report(row(why).error_class);
    }
}

} // namespace

const error_row &row(reason why) noexcept {
    return rows[static_cast<std::size_t>(why)];
}

int fail(const public_call &call, reason why) noexcept {
    return report(call, nullptr, why, nullptr);
}

int fail(const public_call &call, const char *subject, reason why) noexcept {
    return report(call, subject, why, nullptr);
}

int fail_with_detail(const public_call &call, reason why, const char *detail) noexcept {
    return report(call, nullptr, why, detail);
}

} // namespace thence::api
