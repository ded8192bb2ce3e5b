// SPDX-License-Identifier: BSD-3-Clause
// The library's own C API, but for the calls on one continuation request (cr_calls.cpp): checks the arguments, calls
// the continuation layer, reports errors.
#include <thence/thence.h>

#include "core/api/checks.hpp"
#include "core/continuation/attach.hpp"
#include "core/continuation/info.hpp"
#include "core/continuation/lifetime.hpp"
#include "core/continuation/run.hpp"
#include "core/continuation/thread_state.hpp"
#include "core/engine/engine.hpp"
#include "core/engine/push.hpp"
#include "core/mpi/implementation.hpp"
#include "core/progress/progress.hpp"

#include <climits>
#include <optional>

using namespace thence;
using api::fail;
namespace reason = api::reason;
using continuation::continuation_request;

namespace thence::api {

int create(const public_call &call, unsigned flags, int max_poll, MPI_Info info, MPI_Request *cr, unsigned fixed) {
    constexpr unsigned known = THENCE_CR_POLL_ONLY | THENCE_CR_ENQUEUE_COMPLETE | THENCE_CR_ANY_THREAD |
                               THENCE_CR_SIGNAL_SAFE | THENCE_CR_NEEDS_START | THENCE_CR_REPORT_FAILED |
                               THENCE_CR_IN_COMPLETION;
    if (cr == nullptr) {
        return fail(call, reason::null_cr);
    }
    if ((flags & ~known) != 0) {
        return fail(call, reason::unknown_cr_flags);
    }
    if (max_poll < -1) {
        return fail(call, {MPI_ERR_ARG, "max_poll is below -1"});
    }
    if (const int code = api::set_up(call); code != MPI_SUCCESS) {
        return code;
    }
    continuation::cr_options options{flags, max_poll};
    if (const char *key = continuation::read_info(info, options)) {
        return fail_with_detail(call, {MPI_ERR_INFO_VALUE, "info has a value that this key does not take"}, key);
    }
    if ((options.flags & THENCE_CR_POLL_ONLY) != 0 && options.max_poll == 0) {
        return fail(call,
                    {MPI_ERR_INFO_VALUE, "max_poll is 0 together with poll-only: no continuation could ever run"});
    }
    options.flags |= fixed;
    if ((options.flags & THENCE_CR_ANY_THREAD) != 0 && !progress::require_helper()) {
        // A program that requests the helper may make no MPI call while it waits. Without it, it would wait for ever.
        if ((flags & THENCE_CR_ANY_THREAD) != 0) {
            return fail_with_detail(
                call, {MPI_ERR_UNSUPPORTED_OPERATION, "THENCE_CR_ANY_THREAD needs the helper thread, which cannot run"},
                progress::helper_state());
        }
        // The info key and THENCE_PROGRESS are only hints. Application threads run the callbacks then.
        options.flags &= ~THENCE_CR_ANY_THREAD;
    }
    continuation_request *created = continuation_request::create(options);
    if (created == nullptr) {
        return fail(call, {MPI_ERR_NO_MEM, "65536 continuation requests exist"});
    }
    *cr = created->handle();
    return MPI_SUCCESS;
}

std::optional<failure> wrong(int count, const MPI_Request requests[], continuation::user_callback callback,
                             unsigned flags, const continuation_request &cr) noexcept {
    constexpr unsigned known = THENCE_PERSISTENT | THENCE_INVOKE_FAILED | THENCE_MAY_RUN;
    if (count < 0) {
        return reason::negative_count;
    }
    if (callback.function == nullptr) {
        return failure{MPI_ERR_ARG, "{callback} is null"};
    }
    if (requests == nullptr && count > 0) {
        return reason::null_requests;
    }
    if ((flags & ~known) != 0) {
        return reason::unknown_flags;
    }
    for (int i = 0; i < count; ++i) {
        if (continuation::is_cr_handle(requests[i])) [[unlikely]] {
            const continuation_request *operation = continuation_request::of_handle(requests[i]);
            if (operation == nullptr || operation == &cr) {
                return operation == nullptr
                           ? failure{MPI_ERR_REQUEST, "{requests} has a continuation request that was freed"}
                           : failure{MPI_ERR_REQUEST, "{cr} is in {requests}, and would wait for itself"};
            }
        } else if (engine::is_pushed(requests[i])) [[unlikely]] {
            return failure{MPI_ERR_REQUEST, "{requests} has a copy of a request that is attached already"};
        }
    }
    return std::nullopt;
}

int attach(const public_call &call, int count, MPI_Request requests[], continuation::user_callback callback,
           continuation::attach_options how, MPI_Status statuses[], MPI_Request cr, int *flag) noexcept {
    continuation_request *object = continuation_request::of_handle(cr);
    if (object == nullptr) [[unlikely]] {
        return fail(call, why_not_live(cr));
    }
    if (continuation::has_ended()) [[unlikely]] {
        return fail(call, reason::library_has_ended);
    }
    if (const std::optional<failure> why = wrong(count, requests, callback, how.flags, *object)) [[unlikely]] {
        return fail(call, *why);
    }
    if (flag == nullptr && !never_at_once(how.flags, *object)) [[unlikely]] {
        return fail(call, {MPI_ERR_ARG, "flag is null without {THENCE_CR_ENQUEUE_COMPLETE or THENCE_MAY_RUN}"});
    }
    int unwanted = 0;
    const int code =
        continuation::attach(count, requests, callback, how, statuses, *object, flag != nullptr ? flag : &unwanted);
    return code != continuation::out_of_memory ? code : fail(call, reason::no_memory);
}

} // namespace thence::api

namespace {

continuation::user_callback own(thence_callback *callback, void *data) {
    return {reinterpret_cast<continuation::any_function>(callback), data};
}

// thence_attach() calls it where an argument is wrong or the case is not the common one. That is a tail call,
// so the return address is the user's. It also lets the common case save no registers, which would take 30
// instructions.
__attribute__((noinline)) int attach_otherwise(int count, MPI_Request requests[], thence_callback *callback, void *data,
                                               unsigned flags, MPI_Status statuses[], MPI_Request cr, int *flag) {
    static constexpr api::public_call call{"thence_attach"};
    return api::attach(call, count, requests, own(callback, data),
                       {flags, continuation::signature::own, __builtin_return_address(0)}, statuses, cr, flag);
}

} // namespace

extern "C" {

int thence_cr_create(unsigned flags, int max_poll, MPI_Info info, MPI_Request *cr) {
    return api::create("thence_cr_create", flags, max_poll, info, cr);
}

int thence_attach(int count, MPI_Request requests[], thence_callback *callback, void *data, unsigned flags,
                  MPI_Status statuses[], MPI_Request cr, int *flag) {
    constexpr unsigned common_flags = THENCE_MAY_RUN | THENCE_INVOKE_FAILED;
    if (count != 1 || (flags & ~common_flags) != 0 ||
        !continuation::can_attach_single(requests, own(callback, data), cr, flag)) [[unlikely]] {
        return attach_otherwise(count, requests, callback, data, flags, statuses, cr, flag);
    }
    return continuation::attach_single(*requests, own(callback, data),
                                       {flags, continuation::signature::own, __builtin_return_address(0)}, statuses, cr,
                                       flag);
}

int thence_take_complete(MPI_Request *request, int *flag, MPI_Status *status) {
    if (request == nullptr || flag == nullptr) {
        return fail("thence_take_complete", request == nullptr ? reason::null_request : reason::null_flag);
    }
    if (continuation::is_cr_handle(*request)) {
        *flag = 0;
        return MPI_SUCCESS;
    }
    return engine::take_complete(*request, *flag, status);
}

// Not one function of src/core/continuation: that would cost ten instructions per receive of await_recv.
static inline int make_progress(const char *call, long &count) {
    if (const long ran = continuation::run_ready(LONG_MAX); ran != 0) {
        count = ran; // as in a test, MPI need not be called; the library is set up
        return MPI_SUCCESS;
    }
    if (const int code = api::set_up(call); code != MPI_SUCCESS) {
        return code;
    }
    progress::note_poll_of_application();
    count = continuation::make_progress();
    return MPI_SUCCESS;
}

int thence_progress(void) {
    long count = 0;
    return make_progress("thence_progress", count);
}

int thence_progress_some(long *count) {
    constexpr const char *call = "thence_progress_some";
    return count == nullptr ? fail(call, reason::null_count) : make_progress(call, *count);
}

MPI_Errhandler thence_errors_return(void) {
    return mpi::errors_return();
}

int thence_at_finalize_(void (*function)()) {
    return continuation::add_finalize_function(function) ? MPI_SUCCESS : MPI_ERR_NO_MEM;
}

int thence_is_cr(MPI_Request request) {
    return continuation_request::of_handle(request) != nullptr ? 1 : 0;
}

} // extern "C"
