// SPDX-License-Identifier: BSD-3-Clause
// Attaching a continuation to operations. The common case is here, since it is inline in the functions that the user
// calls: one pending operation of MPI's own, which becomes a `single`. attach.cpp has all other cases.
//
// Arguments are wrong or right when these functions are called: can_attach_single() is false for wrong ones, and the
// caller of attach() has checked them. So attaching fails only when memory is exhausted.
#pragma once

#include "core/base/load_plain.hpp"
#include "core/continuation/complete.hpp"
#include "core/continuation/request.hpp"
#include "core/continuation/thread_state.hpp"
#include "core/engine/engine.hpp"
#include "core/engine/push.hpp"
#include "core/mpi/persistent.hpp"
#include "core/progress/progress.hpp"

namespace thence::continuation {

// The arguments of an attach, in two structures. Each is passed in two registers.
struct user_callback {
    any_function function;
    void *data;
};
struct attach_options {
    unsigned flags; // THENCE_ options of thence_attach()
    signature form;
    origin attached_by; // the attaching call, for reports
    bool has(unsigned flag) const noexcept { return (flags & flag) != 0; }
};

// True for a request that is neither null, nor a CR, nor persistent.
bool is_ordinary(MPI_Request request) noexcept;

// Attaches to `count` operations of any kind. `*flag` becomes 1 if all were complete already and no callback will run,
// else 0. Returns MPI_SUCCESS, or, with `*flag` 1, the error of a failed operation. If memory is exhausted, it returns
// `out_of_memory`, which the caller reports, and changes neither `*flag` nor anything else.
inline constexpr int out_of_memory = -1; // no error code of an MPI is negative
int attach(int count, MPI_Request requests[], user_callback callback, attach_options how, MPI_Status statuses[],
           continuation_request &cr, int *flag) noexcept;

// True if `request` is MPI's own and the engine sees, without a call of MPI, that it is complete.
inline bool is_complete(const MPI_Request *request) noexcept {
    return request != nullptr && !is_cr_or_null(*request) && engine::is_complete(*request);
}
// Completes such an operation in place of a continuation: its status is set and the request is null. False, and nothing
// has changed, if `cr` is not live or wants its callbacks to be called, the operation has failed or is persistent, or
// continuations are observed.
bool take_complete(MPI_Request &request, MPI_Status *status, MPI_Request cr) noexcept;

// The common case, from can_attach_single() to attach_single(). Both are inline: together they attach.

// True if `request`, which is no CR, is one operation of MPI's own that is not persistent. An engine that can read its
// state has found it pending.
[[gnu::always_inline]] inline bool is_single(MPI_Request request, const continuation_request &cr) noexcept {
    if (cr.pushes()) {
        return engine::can_push(request);
    }
    if (!cr.polls() || request == MPI_REQUEST_NULL) {
        return false;
    }
    // Where a request does not tell, none may be persistent. The plain load saves one instruction.
    return engine::can_read_requests ? !engine::may_be_persistent(request)
                                     : base::load_plain(mpi::persistent_count) == 0;
}

// True if the arguments are right and name the common case, is_single(). False, too, for a thread without a cache of
// continuations: attach() then fills the cache. A load stands between every two checks: without it, or with &&,
// GCC 12 computes all comparisons each time, without branches.
[[gnu::always_inline]] inline bool can_attach_single(const MPI_Request *request, user_callback callback, MPI_Request cr,
                                                     const int *flag) noexcept {
    if (!continuation_request::is_live(cr)) [[unlikely]] {
        return false;
    }
    if (request == nullptr) [[unlikely]] {
        return false;
    }
    if (is_cr_handle(*request)) [[unlikely]] {
        return false;
    }
    if (callback.function == nullptr) [[unlikely]] {
        return false;
    }
    if (this_thread.cache.head == nullptr) [[unlikely]] {
        return false;
    }
    if (flag == nullptr) [[unlikely]] {
        return false;
    }
    return is_single(*request, *object_of(cr));
}

// Sets the phase `attached`, from which the continuation may run. Wakes hook and helper if they rest.
inline int attached(continuation &c, control_word kind) noexcept {
    c.set_control(kind.with(phase::attached), std::memory_order_release);
    progress::engage();
    return MPI_SUCCESS;
}

// attach_single() calls one of the next three as its last act, so it need not save registers for the call.

[[gnu::noinline]] inline int wake() noexcept {
    progress::wake();
    return MPI_SUCCESS;
}

// The operation completed during push(), and MPI does not report it.
[[gnu::noinline]] inline int attach_complete(continuation &c, control_word kind) noexcept {
    make_ready(c); // the thread that takes it from the queue waits until it is attached
    return attached(c, kind);
}

[[gnu::always_inline]] inline control_word control_of(attach_options how, unsigned kind) noexcept {
    return {phase::attaching, how.form, kind | (how.has(THENCE_INVOKE_FAILED) ? control_word::invoke_failed : 0U)};
}

// Attaches a single that the engine may have to poll. All fields of `c` are set except its control word.
[[gnu::noinline]] inline int attach_polled(continuation &c, attach_options how, int *flag) noexcept {
    const busy_scope attaching; // the test of the operation may enter MPI's progress, which may call our hook
    const control_word kind = control_of(how, control_word::single);
    c.set_control(kind, std::memory_order_relaxed);
    c.cr->acquire();
    c.first.error = MPI_SUCCESS;
    if (engine::current->watch(c.first, false) == engine::outcome::complete) [[unlikely]] {
        return complete_at_once(c, how.has(THENCE_MAY_RUN), flag);
    }
    *flag = 0;
    return attached(c, kind);
}

// Sets the fields of `c` that all ways of attaching set.
[[gnu::always_inline]] inline void fill(continuation &c, user_callback callback, attach_options how,
                                        MPI_Status statuses[], continuation_request &cr) noexcept {
    c.callback = callback.function;
    c.data = callback.data;
    c.attached_by = how.attached_by;
    c.cr = &cr;
    c.first.status = statuses;
}

// can_attach_single() is true.
//
// `c` may be queued as soon as push() has begun, and may run on another thread as soon as its phase is `attached`. So
// all fields of `c` and the user's request are set before push().
[[gnu::always_inline]] inline int attach_single(MPI_Request &request, user_callback callback, attach_options how,
                                                MPI_Status *status, MPI_Request cr_handle, int *flag) noexcept {
    continuation_request &cr = *object_of(cr_handle);
    const MPI_Request handle = request;
    continuation *c = this_thread.cache.head;
    fill(*c, callback, how, status, cr);
    c->first.request = handle;
    this_thread.cache.head = c->next;
    --this_thread.cache.count;
    request = MPI_REQUEST_NULL;
    if (!cr.pushes()) {
        return attach_polled(*c, how, flag);
    }
    const control_word kind = control_of(how, control_word::single | control_word::pushed);
    c->set_control(kind, std::memory_order_relaxed);
    cr.acquire();
    *flag = 0;
    if (!engine::push(handle, &single_complete, c)) [[unlikely]] {
        return attach_complete(*c, kind);
    }
    c->set_control(kind.with(phase::attached), std::memory_order_release);
    // The plain load saves one instruction. acquire(), before it, is seq_cst: see load_plain.hpp.
    if (!base::load_plain(progress::awake)) [[unlikely]] {
        return wake();
    }
    return MPI_SUCCESS;
}

} // namespace thence::continuation
