// SPDX-License-Identifier: BSD-3-Clause
#include "mpix/messages/requests.hpp"

#include "core/base/spin_lock.hpp"
#include "core/mpi/calls.hpp"
#include "core/progress/progress.hpp"
#include "mpix/messages/endpoint.hpp"

#include <climits>
#include <mutex>

namespace thence::messages {

namespace {

// What a cancel function has left to do. MPI calls that function under a lock which MPI_Grequest_complete takes, too
// (MPICH 4.0 aborts), so the next poll does it: it completes the receives that were cancelled, and what had to be
// matched first.
base::spin_lock cancelled_lock; // guards cancelled_work
constinit endpoint::deferred_work cancelled_work;
std::atomic<bool> has_cancelled_work{false};

int query(void *state, MPI_Status *status) {
    const auto &op = *static_cast<const p2p_operation *>(state);
    set_status(status, op.result);
    return op.result.error;
}

int release(void *state) {
    delete static_cast<p2p_operation *>(state);
    return MPI_SUCCESS;
}

// A send cannot be cancelled: it completes when it is received.
int cancel(void *state, int complete) {
    auto &op = *static_cast<p2p_operation *>(state);
    if (complete != 0 || op.at == nullptr) {
        return MPI_SUCCESS;
    }
    endpoint::deferred_work deferred;
    if (op.at->withdraw(op, deferred)) {
        op.result.cancelled = true;
        op.result.bytes = 0;
        deferred.completed.add(op);
    }
    if (!deferred.empty()) {
        const std::scoped_lock guard(cancelled_lock);
        cancelled_work.take(deferred);
        has_cancelled_work.store(true, std::memory_order_seq_cst);
    }
    return MPI_SUCCESS;
}

} // namespace

bool any_cancelled() noexcept {
    return has_cancelled_work.load(std::memory_order_seq_cst);
}

void finish_cancelled() noexcept {
    if (!any_cancelled()) {
        return;
    }
    endpoint::deferred_work work;
    {
        const std::scoped_lock guard(cancelled_lock);
        work.take(cancelled_work);
        has_cancelled_work.store(false, std::memory_order_relaxed);
    }
    work.finish();
}

int start_request(p2p_operation &op) noexcept {
    if (mpi::table.Grequest_start(&query, &release, &cancel, &op, &op.request) != MPI_SUCCESS) {
        return MPI_ERR_OTHER;
    }
    op.has_request = true;
    if (op.data.layout != nullptr) {
        op.layout = datatype::kept_layout(*op.data.layout);
    }
    // A message of 2^31 bytes or more is received with the type: MPI counts no bytes beyond that.
    if (op.data.bytes > INT_MAX && mpi::table.Type_dup(op.data.type, &op.own_type) == MPI_SUCCESS) {
        op.data.type = op.own_type;
    }
    open_requests.fetch_add(1, std::memory_order_seq_cst);
    progress::engage();
    return MPI_SUCCESS;
}

int make_complete_request(std::unique_ptr<p2p_operation> op, MPI_Request &request) noexcept {
    if (op == nullptr) {
        return MPI_ERR_NO_MEM;
    }
    MPI_Request made = MPI_REQUEST_NULL;
    if (mpi::table.Grequest_start(&query, &release, &cancel, op.get(), &made) != MPI_SUCCESS) {
        return MPI_ERR_OTHER;
    }
    static_cast<void>(op.release()); // the request deletes it
    mpi::table.Grequest_complete(made);
    request = made;
    return MPI_SUCCESS;
}

} // namespace thence::messages
