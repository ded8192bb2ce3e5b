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

// The shortest way: one operation that MPI can push to us. False if that does not apply, and nothing happened.
[[gnu::always_inline]] inline bool attach_pushed(MPI_Request &request, const attachment &what, MPI_Status *status,
                                                 continuation_request &cr) noexcept {
    if (request == MPI_REQUEST_NULL || is_cr_handle(request) || this_thread.stock.head == nullptr) [[unlikely]] {
        return false;
    }
    continuation *c = this_thread.stock.head;
    c->callback = what.callback;
    c->data = what.data;
    c->statuses = status;
    c->cr = &cr;
    c->where = what.where;
    c->since = base::coarse_clock::now();
    c->form = what.form;
    c->invoke_failed = (what.flags & THENCE_INVOKE_FAILED) != 0;
    c->count = 1;
    c->first.request = request;
    c->first.status = status == MPI_STATUS_IGNORE ? nullptr : status;
    c->first.owner = c;
    c->first.error = MPI_SUCCESS;
    continuation *rest = c->next; // a push may queue `c` at once
    c->at.store(phase::attaching, std::memory_order_relaxed);
    cr.acquire();
    if (engine::try_push(c->first) == engine::pushing::refused) [[unlikely]] {
        c->at.store(phase::free, std::memory_order_relaxed);
        cr.release();
        return false;
    }
    this_thread.stock.head = rest;
    --this_thread.stock.count;
    request = MPI_REQUEST_NULL;
    c->at.store(phase::attached, std::memory_order_release);
    this_thread.counts.attached.add();
    progress::engage();
    return true;
}

attach_result attach(int count, MPI_Request requests[], const attachment &what, MPI_Status statuses[],
                     continuation_request &cr) noexcept;

} // namespace thence::continuation
