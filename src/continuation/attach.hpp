// SPDX-License-Identifier: BSD-3-Clause
// Attaching a continuation to operations. Arguments are checked before: nothing here can refuse them.
#pragma once

#include "continuation/request.hpp"
#include "continuation/thread_state.hpp"
#include "engine/engine.hpp"
#include "engine/push.hpp"
#include "mpi/persistent.hpp"

namespace thence::continuation {

struct attachment {
    any_function callback;
    void *data;
    signature form;
    unsigned flags;    // THENCE_ options of thence_attach()
    const void *where; // who attaches
};

struct attach_result {
    int flag = 0;            // 1: complete at once
    int error = MPI_SUCCESS; // of a failed operation when complete at once; or MPI_ERR_NO_MEM, and nothing happened
};

// Any number of operations of any kind.
attach_result attach(int count, MPI_Request requests[], const attachment &what, MPI_Status statuses[],
                     continuation_request &cr) noexcept;

// MPI's own completion path, for requests that it pushes to us: `object` is the request. They only mark and queue,
// unless the CR asks for more (THENCE_CR_IN_COMPLETION). The data is the continuation of a single attached by
// attach_pushed(), or any other operation.
int single_complete(void *object) noexcept;
int request_complete(void *object) noexcept;

// All operations of `c` turned out to be complete while attaching. `may_run`: THENCE_MAY_RUN was given.
attach_result complete_at_once(continuation &c, bool may_run) noexcept;

constexpr control_word control_of(phase at, const attachment &what, unsigned kind) noexcept {
    return {at, what.form, kind | ((what.flags & THENCE_INVOKE_FAILED) != 0 ? control_word::invoke_failed : 0U)};
}

// A common operation of MPI's: neither null, nor a CR, nor persistent.
inline bool is_common(MPI_Request request) noexcept {
    return !is_cr_handle(request) && request != MPI_REQUEST_NULL && !mpi::noted_persistent(request);
}
// The same at a glance: false also if there is any persistent request.
inline bool is_clearly_common(MPI_Request request) noexcept {
    return !is_cr_or_null(request) && base::peek(mpi::persistent_count) == 0;
}

enum class single_result { attached, not_tried, refused, complete };

// The common beginning of the two ways below: `c`, the first of this thread's stock, is filled and registered, and
// `request`, whose handle is returned, is the library's. The order keeps the arguments in their registers.
[[gnu::always_inline]] inline MPI_Request begin_single(continuation &c, MPI_Request &request, const attachment &what,
                                                       MPI_Status *status, continuation_request &cr,
                                                       control_word attaching) noexcept {
    c.callback = what.callback;
    c.data = what.data;
    c.first.status = status;
    c.cr = &cr;
    c.set_control(attaching, std::memory_order_relaxed);
    cr.acquire();
    this_thread.stock.head = c.next;
    --this_thread.stock.count;
    c.where = __builtin_return_address(0); // inlined into the function that the user called
    const MPI_Request handle = request;
    c.first.request = handle;
    request = MPI_REQUEST_NULL;
    return handle;
}

// The shortest way: one operation that MPI can push to us. `not_tried`: it does not apply, nothing happened. `refused`:
// MPI would not, and withdraw() must be called.
//
// MPI_REQUEST_NULL is refused by try_push(): it looks complete. `c` may be queued as soon as try_push() has begun, and
// run on another thread as soon as it is attached, so everything about it and about `request` is settled before.
// What refuses comes first, and withdraw() needs `c` alone: nothing else is kept for it.
[[gnu::always_inline]] inline single_result attach_pushed(MPI_Request &request, const attachment &what,
                                                          MPI_Status *status, continuation_request &cr) noexcept {
    continuation *c = this_thread.stock.head;
    if (is_cr_handle(request) || c == nullptr) [[unlikely]] {
        return single_result::not_tried;
    }
    const control_word attached = control_of(phase::attached, what, control_word::single | control_word::pushed);
    const MPI_Request handle = begin_single(
        *c, request, what, status, cr,
        control_of(phase::attaching, what, (what.flags & THENCE_MAY_RUN) != 0 ? control_word::may_run : 0U));
    if (!engine::try_push(handle, &single_complete, c)) [[unlikely]] {
        this_thread.stock.head = c;
        return single_result::refused;
    }
    c->set_control(attached, std::memory_order_release);
    return single_result::attached;
}

// After a refusal: true if the operation was complete, as a short send is at once. Its results are the user's then, and
// nothing is left of what began; else withdraw() is to be called.
bool finish_refused() noexcept;

struct withdrawn {
    attachment what;
    MPI_Status *status;
    MPI_Request cr;
};
// After a refusal: `request` is the user's again, and what was to be attached is as if nothing had happened.
withdrawn withdraw(MPI_Request &request) noexcept;

// True: attached; else complete_at_once() is to be called. `c` is begun, on an engine that looks.
[[gnu::always_inline]] inline bool finish_polled(continuation &c, control_word attached) noexcept {
    const busy_scope attaching; // MPI may run our hook while we ask it whether the operation is complete
    if (engine::current->polled.add(c.first, true)) [[unlikely]] {
        return false;
    }
    c.set_control(attached, std::memory_order_release);
    return true;
}

// One common operation on an engine that looks. `complete`: complete_at_once() is to be called for `c`. `refused`: more
// is to be done than to note it; finish_polled() is to be called for `c`. Where that happens seldom, no call is made
// before, so nothing need be saved.
[[gnu::always_inline]] inline single_result attach_polled(MPI_Request &request, const attachment &what,
                                                          MPI_Status *status, continuation_request &cr,
                                                          continuation *&c) noexcept {
    c = this_thread.stock.head;
    if (c == nullptr || !is_clearly_common(request)) [[unlikely]] {
        return single_result::not_tried;
    }
    const control_word attached = control_of(phase::attached, what, control_word::single);
    const control_word attaching = attached.with(phase::attaching);
    if constexpr (engine::polled_set::always_looks) {
        begin_single(*c, request, what, status, cr, attaching);
        return finish_polled(*c, attached) ? single_result::attached : single_result::complete;
    } else {
        const MPI_Request handle = begin_single(*c, request, what, status, cr, attaching);
        if (!engine::current->polled.add_at_once(c->first, handle)) [[unlikely]] {
            return single_result::refused;
        }
        c->set_control(attached, std::memory_order_release);
        return single_result::attached;
    }
}

} // namespace thence::continuation
