// SPDX-License-Identifier: BSD-3-Clause
// The errors of the C API: the reasons for which a call can fail, and the class and text of each. A call returns an MPI
// error code of the class that thence.h documents. The text of the code names the call, the arguments and the reason as
// the user wrote them: several calls do the same under names of their own (the MPIX calls, MPI's calls on a continuation
// request).
#pragma once

#include "core/base/visibility.hpp"

#include <span>

namespace thence::api {

// An argument whose name in this call is not its name in thence.h.
struct renamed_argument {
    const char *in_thence_h;
    const char *name;
};

// The call that the user wrote.
struct public_call {
    constexpr public_call(const char *its_name, std::span<const renamed_argument> arguments = {},
                          int of_array = -1) noexcept
        : name(its_name), renamed(arguments), index(of_array) {}

    const char *name;
    std::span<const renamed_argument> renamed;
    int index; // which entry of an array the continuation request is; -1: it is an argument of its own
};

enum class reason {
    null_cr,
    no_cr,
    freed_cr,
    started_already,
    cr_twice,
    unknown_cr_flags,
    max_poll_too_small,
    forum_max_poll_negative,
    bad_info,
    nothing_runs,
    too_many_crs,
    no_helper,
    mpi_inactive,
    too_many_sources,
    negative_count,
    null_requests,
    null_callback,
    null_flag_of_attach,
    null_outcount,
    null_indices,
    null_data_to_copy,
    unknown_flags,
    cr_among_requests,
    freed_cr_among_requests,
    attached_already,
    null_flag,
    null_request,
    waits_for_itself,
    null_count,
    negative_capacity,
    null_data,
    null_info,
    size_too_small,
    null_events,
    null_completed,
    no_events,
    too_many_events,
    too_few_events,
    only_persistent,
    null_runtime,
    runtime_without_current,
    runtime_with_half,
    too_many_runtimes,
    runtime_added_already,
    runtime_not_added,
    negative_index,
    null_task,
    no_task,
    runtime_without_events,
    runtime_without_blocking,
    events_refused,
    blocks_in_callback,
    cr_not_run,
    no_body,
    null_paused,
    body_not_ended,
    null_datatype,
    unknown_combiner,
    type_too_large,
    type_too_deep,
    negative_element_count,
    too_many_bytes,
    max_iov_bytes_too_small,
    negative_iov_offset,
    negative_max_iov_len,
    null_iov,
    null_iov_result,
    null_layout,
    copy_truncated,
    not_interposed,
    no_memory,
    unknown_gpu_type,
    null_is_supported,
    null_stream,
    no_stream,
    null_comm,
    null_newcomm,
    stream_has_communicators,
    stream_has_work,
    stream_refused_by_mpi,
    bad_hex,
    bad_native,
    unusable_queue,
    bad_queue_table,
    too_many_streams,
    null_mpi_info,
    null_key,
    null_value,
    hex_too_long,
    no_queue,
    stream_without_queue,
    queue_refused,
    null_start,
    no_enqueued_request,
    mixed_requests,
    count_too_large,
    no_large_counts,
    no_copy_of_such,
    null_error,
    null_query_fn,
    null_free_fn,
    null_cancel_fn,
    unknown_poll_flags,
    null_greq_class,
    no_greq_class,
    null_poll_fn,
    null_async_thing,
    no_progress_thread,
    count_, // how many there are
};

struct error_row {
    reason why;
    int error_class;
    const char *text; // {NAME}: a name of thence.h, for which a call may have another
};
const error_row &row(reason why) noexcept;

// Reports the error through the error handler of MPI_COMM_WORLD and returns its code.
THENCE_INTERNAL int fail(const public_call &call, reason why) noexcept;
// The same, and the text names `subject` before the reason.
int fail(const public_call &call, const char *subject, reason why) noexcept;
// The same, and the text names `detail` after the reason.
int fail_with_detail(const public_call &call, reason why, const char *detail) noexcept;

} // namespace thence::api
