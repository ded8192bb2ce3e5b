// SPDX-License-Identifier: BSD-3-Clause
// Attaching a continuation to operations. Arguments are checked before: nothing here can refuse them.
#pragma once

#include "base/clock.hpp"
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

// A single that MPI turned out not to push: back into the stock, as if nothing had happened.
void withdraw(continuation &c) noexcept;

// The shortest way: one operation that MPI can push to us. False if that does not apply, and nothing happened.
//
// MPI_REQUEST_NULL is refused by try_push(): it looks complete. `c` may be queued as soon as try_push() has begun, and
// run on another thread as soon as it is attached, so everything about it and about `request` is settled before.
[[gnu::always_inline]] inline bool attach_single(MPI_Request &request, const attachment &what, MPI_Status *status,
                                                 continuation_request &cr) noexcept {
    const MPI_Request handle = request;
    continuation *c = this_thread.stock.head;
    if (!engine::push.enabled || is_cr_handle(handle) || c == nullptr) [[unlikely]] {
        return false;
    }
    this_thread.stock.head = c->next;
    --this_thread.stock.count;
    c->callback = what.callback;
    c->data = what.data;
    c->statuses = status;
    c->cr = &cr;
    c->where = what.where;
    c->request = handle;
    c->since = base::coarse_clock::now();
    c->form = what.form;
    c->invoke_failed = (what.flags & THENCE_INVOKE_FAILED) != 0;
    c->single = true;
    c->at.store(phase::attaching, std::memory_order_relaxed);
    cr.acquire();
    request = MPI_REQUEST_NULL;
    if (!engine::try_push(handle, c)) [[unlikely]] {
        request = handle;
        withdraw(*c);
        return false;
    }
    c->at.store(phase::attached, std::memory_order_release);
    progress::engage();
    return true;
}

} // namespace thence::continuation
