// SPDX-License-Identifier: BSD-3-Clause
#include "mpix/messages/carrier.hpp"

#include "core/base/spin_lock.hpp"
#include "core/mpi/calls.hpp"
#include "core/progress/progress.hpp"
#include "core/progress/source.hpp"
#include "mpix/messages/endpoint.hpp"
#include "mpix/messages/scheduled.hpp"
#include "mpix/messages/transport.hpp"

#include <climits>
#include <cstdlib>
#include <mutex>
#include <new>
#include <utility>

namespace thence::endpoint {

namespace {

std::atomic<long> open_requests{0};

// What a cancel function has left to do. MPI calls that function under a lock which MPI_Grequest_complete takes, too (MPICH
// 4.0 aborts), so the next poll does it: it completes the receives that were cancelled, and what had to be matched first.
class left_by_cancels {
public:
    void add(endpoint::round &left) noexcept {
        const std::scoped_lock guard(lock_);
        all_.take(left);
        some_.store(true, std::memory_order_seq_cst);
    }
    bool any() const noexcept { return some_.load(std::memory_order_seq_cst); }
    void finish() noexcept {
        if (!any()) {
            return;
        }
        endpoint::round now;
        lock_.lock();
        now.take(all_);
        some_.store(false, std::memory_order_relaxed);
        lock_.unlock();
        now.finish();
    }

private:
    base::spin_lock lock_; // guards all_
    endpoint::round all_;
    std::atomic<bool> some_{false};
};
constinit left_by_cancels cancels;

// A receive that a thread blocks in may be left by the cancel of another one, when no request is open any more.
bool outstanding() noexcept {
    return open_requests.load(std::memory_order_seq_cst) != 0 || cancels.any();
}

bool poll(progress::from where) noexcept {
    if (where == progress::from::locked_hook || !outstanding()) {
        return false;
    }
    cancels.finish();
    poll_transports();
    drive_needed();
    advance_scheduled();
    return false;
}

long run(long) noexcept {
    return 0; // a poll completes all it finds
}

constexpr progress::source as_source{"endpoints", &outstanding, &poll, &run};

int query(void *state, MPI_Status *status) {
    const auto *op = static_cast<const operation *>(state);
    set_status(status, op != nullptr ? op->result : outcome{});
    return op != nullptr ? op->result.error : int{MPI_SUCCESS};
}

int release(void *state) {
    delete static_cast<operation *>(state);
    return MPI_SUCCESS;
}

// A send cannot be cancelled: it completes when it is received.
int cancel(void *state, int complete) {
    auto *op = static_cast<operation *>(state);
    if (complete != 0 || op == nullptr || op->at == nullptr) {
        return MPI_SUCCESS;
    }
    endpoint::round left;
    if (op->at->withdraw(*op, left)) {
        op->result.cancelled = true;
        op->result.bytes = 0;
        left.completed.add(*op);
    }
    if (!left.empty()) {
        cancels.add(left);
    }
    return MPI_SUCCESS;
}

} // namespace

bool any_open_request() noexcept {
    return open_requests.load(std::memory_order_relaxed) != 0;
}

int carry(operation &op) noexcept {
    if (mpi::table.Grequest_start(&query, &release, &cancel, &op, &op.carrier) != MPI_SUCCESS) {
        return MPI_ERR_OTHER;
    }
    op.carried = true;
    if (op.data.layout != nullptr) {
        op.layout = datatype::kept_layout(*op.data.layout);
    }
    open_requests.fetch_add(1, std::memory_order_seq_cst);
    progress::engage();
    return MPI_SUCCESS;
}

int carry_nothing(MPI_Request &request) noexcept {
    MPI_Request carrier = MPI_REQUEST_NULL;
    if (mpi::table.Grequest_start(&query, &release, &cancel, nullptr, &carrier) != MPI_SUCCESS) {
        return MPI_ERR_OTHER;
    }
    mpi::table.Grequest_complete(carrier);
    request = carrier;
    return MPI_SUCCESS;
}

int carry_outcome(const outcome &result, MPI_Request &request) noexcept {
    auto *const op = new (std::nothrow) operation;
    if (op == nullptr) {
        return MPI_ERR_NO_MEM;
    }
    op->result = result;
    MPI_Request carrier = MPI_REQUEST_NULL;
    if (mpi::table.Grequest_start(&query, &release, &cancel, op, &carrier) != MPI_SUCCESS) {
        delete op;
        return MPI_ERR_OTHER;
    }
    mpi::table.Grequest_complete(carrier);
    request = carrier;
    return MPI_SUCCESS;
}

void complete(operation &op) noexcept {
    if (op.owned) {
        std::free(op.room);
        delete &op;
        return;
    }
    if (!op.carried) {
        op.done.store(true, std::memory_order_release);
        return;
    }
    if (op.at != nullptr) {
        op.at->not_needed_by_request();
    }
    open_requests.fetch_sub(1, std::memory_order_seq_cst);
    mpi::table.Grequest_complete(op.carrier);
}

void completed_list::tell() noexcept {
    while (first != nullptr) {
        operation &op = *first;
        first = op.next; // the operation may be gone once it is told
        complete(op);
    }
}

void set_status(MPI_Status *status, const outcome &result) noexcept {
    if (status == MPI_STATUS_IGNORE) {
        return;
    }
    status->MPI_SOURCE = result.source;
    status->MPI_TAG = result.tag;
    if (result.bytes <= INT_MAX) {
        mpi::table.Status_set_elements(status, MPI_BYTE, static_cast<int>(result.bytes));
    } else {
        mpi::table.Status_set_elements_x(status, MPI_BYTE, static_cast<MPI_Count>(result.bytes));
    }
    mpi::table.Status_set_cancelled(status, result.cancelled ? 1 : 0);
}

namespace {
std::mutex use_mutex;
long users = 0;
} // namespace

bool begin_use() noexcept {
    const std::scoped_lock guard(use_mutex);
    if (users == 0 && !progress::add_source(as_source)) {
        return false;
    }
    ++users;
    return true;
}

void end_use() noexcept {
    const std::scoped_lock guard(use_mutex);
    if (--users == 0) {
        progress::remove_source(as_source);
    }
}

} // namespace thence::endpoint
