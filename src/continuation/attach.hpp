// SPDX-License-Identifier: BSD-3-Clause
// Attaching a continuation to operations. Arguments are checked before: nothing here can refuse them.
#pragma once

#include "continuation/request.hpp"
#include "continuation/thread_state.hpp"
#include "engine/push.hpp"
#include "progress/progress.hpp"

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

attach_result attach(int count, MPI_Request requests[], const attachment &what, MPI_Status statuses[],
                     continuation_request &cr) noexcept;

enum class single_result { attached, not_tried, refused };

// The shortest way: one operation that MPI can push to us. `not_tried`: it does not apply, nothing happened. `refused`:
// MPI would not, and withdraw() must be called.
//
// MPI_REQUEST_NULL is refused by try_push(): it looks complete. `c` may be queued as soon as try_push() has begun, and
// run on another thread as soon as it is attached, so everything about it and about `request` is settled before.
[[gnu::always_inline]] inline single_result attach_single(MPI_Request &request, const attachment &what,
                                                          MPI_Status *status, continuation_request &cr) noexcept {
    const MPI_Request handle = request;
    continuation *c = this_thread.stock.head;
    if (is_cr_handle(handle) || c == nullptr) [[unlikely]] {
        return single_result::not_tried;
    }
    continuation *rest = c->next;
    const control_word attached(phase::attached, what.form, true, (what.flags & THENCE_INVOKE_FAILED) != 0);
    c->callback = what.callback;
    c->data = what.data;
    c->statuses = status;
    c->cr = &cr;
    c->where = what.where;
    c->request = handle;
    c->control.store(attached.with(phase::attaching), std::memory_order_relaxed);
    cr.acquire();
    request = MPI_REQUEST_NULL;
    if (!engine::try_push(handle, c)) [[unlikely]] {
        request = handle;
        return single_result::refused;
    }
    this_thread.stock.head = rest;
    --this_thread.stock.count;
    c->control.store(attached, std::memory_order_release);
    return single_result::attached;
}

// After a refusal: the continuation on top of this thread's stock is as if nothing had happened.
void withdraw() noexcept;

} // namespace thence::continuation
