// SPDX-License-Identifier: BSD-3-Clause
// The calls of <thence/progress.h>.
#include <thence/progress.h>

#include "core/api/checks.hpp"
#include "core/engine/is_complete.hpp"
#include "core/progress/progress.hpp"
#include "core/progress/threads.hpp"
#include "mpix/grequest/async.hpp"
#include "mpix/grequest/request.hpp"
#include "mpix/grequest/source.hpp"
#include "mpix/streams/stream.hpp"

using namespace thence;
using api::fail;
namespace reason = api::reason;
using continuation::continuation_request;

static_assert(THENCE_STREAM_NULL == mpi::stream_null);

namespace {

bool is_stream(thence_stream stream) noexcept {
    return stream == THENCE_STREAM_NULL || streams::find(stream) != nullptr;
}

__attribute__((noinline)) int is_complete_otherwise(MPI_Request request) noexcept {
    if (request == MPI_REQUEST_NULL) {
        return 1;
    }
    if (continuation::is_cr_handle(request)) {
        const continuation_request *cr = continuation_request::of_handle(request);
        return cr == nullptr || !cr->active() || cr->idle() ? 1 : 0;
    }
    if (grequest::error_of(request) != MPI_SUCCESS) {
        return 1; // MPI would say that it is not, and call the error handler
    }
    return api::set_up("thence_request_is_complete") == MPI_SUCCESS && engine::is_complete_now(request) ? 1 : 0;
}

int start_async(const api::public_call &call, thence_async_poll_function *poll_fn, void *extra_state,
                thence_stream stream) noexcept {
    if (poll_fn == nullptr) {
        return fail(call, {MPI_ERR_ARG, "poll_fn is null"});
    }
    if (const int code = api::set_up(call); code != MPI_SUCCESS) {
        return code;
    }
    if (!is_stream(stream)) {
        return fail(call, reason::no_stream);
    }
    if (!grequest::set_up()) {
        return fail(call, reason::too_many_sources);
    }
    return grequest::start_async(poll_fn, extra_state, false) ? MPI_SUCCESS : fail(call, reason::no_memory);
}

} // namespace

extern "C" {

int thence_stream_progress(thence_stream stream) {
    if (stream == THENCE_STREAM_NULL) [[likely]] {
        return thence_progress();
    }
    if (streams::find(stream) == nullptr) {
        return fail("thence_stream_progress", reason::no_stream);
    }
    streams::begin_reached(stream);
    streams::poll_endpoint(stream);
    return thence_progress();
}

int thence_start_progress_thread(thence_stream stream) {
    constexpr const char *call = "thence_start_progress_thread";
    if (const int code = api::set_up(call); code != MPI_SUCCESS) {
        return code;
    }
    if (!is_stream(stream)) {
        return fail(call, reason::no_stream);
    }
    switch (progress::start_thread(stream, {&streams::begin_reached, &streams::poll_endpoint})) {
    case progress::thread_start::done:
        return MPI_SUCCESS;
    case progress::thread_start::not_possible:
        return api::fail_with_detail(call, {MPI_ERR_UNSUPPORTED_OPERATION, "the thread that makes progress cannot run"},
                                     progress::helper_state());
    default:
        return fail(call, reason::no_memory);
    }
}

int thence_stop_progress_thread(thence_stream stream) {
    if (const int code = api::set_up("thence_stop_progress_thread"); code != MPI_SUCCESS) {
        return code;
    }
    progress::stop_thread(stream);
    return MPI_SUCCESS;
}

int thence_async_start(thence_async_poll_function *poll_fn, void *extra_state, thence_stream stream) {
    return start_async("thence_async_start", poll_fn, extra_state, stream);
}

void *thence_async_get_state(thence_async_thing async_thing) {
    return async_thing != nullptr ? async_thing->state : nullptr;
}

int thence_async_spawn(thence_async_thing async_thing, thence_async_poll_function *poll_fn, void *extra_state,
                       thence_stream stream) {
    constexpr const char *call = "thence_async_spawn";
    return async_thing != nullptr ? start_async(call, poll_fn, extra_state, stream)
                                  : fail(call, {MPI_ERR_ARG, "async_thing is null"});
}

int thence_request_is_complete(MPI_Request request) {
    if (engine::can_read_requests && !continuation::is_cr_handle(request)) [[likely]] {
        return engine::read_complete(request) ? 1 : 0;
    }
    return is_complete_otherwise(request);
}

} // extern "C"
