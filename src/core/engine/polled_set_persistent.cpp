// SPDX-License-Identifier: BSD-3-Clause
// The persistent requests of the polled set. A persistent request stays with the user, so the user's calls and our
// polls both find it complete. persistent_requests.hpp says how one learns of the other.
#include "core/engine/polled_set.hpp"
#include "core/engine/shared_persistent.hpp"
#include "core/mpi/calls.hpp"

namespace thence::engine {

namespace {

// True for the status that MPI returns for an inactive request.
bool is_empty(const MPI_Status &status) noexcept {
    return status.MPI_SOURCE == MPI_ANY_SOURCE && status.MPI_TAG == MPI_ANY_TAG;
}

} // namespace

// Other operations may wait for the same request. The test completes it for them too, so it is made under the lock: no
// poll may test the request at the same time.
bool polled_set::add_persistent(operation &op) {
    op.path = completion_path::persistent;
    std::scoped_lock guard(lock_);
    if (could_be_complete(op.request)) {
        MPI_Status status = mpi::empty_status();
        int error = MPI_SUCCESS;
        if (test_persistent(op.request, status, error)) {
            persistent_requests::entry *known = persistent_.find(op.request);
            const bool waited_for = known != nullptr && known->is_waited_for();
            if (error == MPI_SUCCESS && is_empty(status) && !waited_for) { // inactive
                error = copy_answer(op.request, status);
            } else {
                completed_by_poll(op.request, known, status, error);
            }
            take(op, status, error);
            return true;
        }
    }
    size_.fetch_add(1, std::memory_order_relaxed);
    persistent_.wait_for(op); // drops an answer: the request was started again since
    count_persistent();
    return false;
}

// From the last to the first, since the last entry of all replaces one that is complete.
void polled_set::poll_persistent(int first, int count) noexcept {
    for (int i = first + count - 1; i >= first; --i) {
        persistent_requests::entry &known = persistent_.waiting(i);
        if (!could_be_complete(known.request)) [[likely]] {
            continue;
        }
        MPI_Status status = mpi::empty_status();
        int error = MPI_SUCCESS;
        if (test_persistent(known.request, status, error)) {
            completed_by_poll(known.request, &known, status, error);
        }
    }
}

bool polled_set::test_persistent(MPI_Request request, MPI_Status &status, int &error) noexcept {
    if (how_.test_persistent == nullptr) {
        return test_one(request, status, error);
    }
    int flag = 0;
    error = how_.test_persistent(&request, &flag, &status);
    return flag != 0 || error != MPI_SUCCESS;
}

// `known`: the entry of `request`, or null.
void polled_set::completed_by_poll(MPI_Request request, persistent_requests::entry *known, const MPI_Status &status,
                                   int error) {
    if (known != nullptr && known->is_waited_for()) {
        finish_waiting(*known, status, error, results_wanted_);
    } else if (results_wanted_) {
        persistent_.keep_answer(request, status, error);
        count_persistent();
    }
}

void polled_set::finish_waiting(persistent_requests::entry &known, const MPI_Status &status, int error,
                                bool keep_answer) {
    MPI_Request request = known.request;
    const bool freed = known.freed;
    persistent_.finish(known, keep_answer && !freed ? &status : nullptr, error,
                       [&](operation &op) { report(op, status, error); });
    count_persistent();
    if (freed) {
        mpi::table.Request_free(&request);
    }
}

void polled_set::count_persistent() noexcept {
    waiting_count_.store(persistent_.waiting(), std::memory_order_relaxed);
    answer_count_.store(persistent_.answers(), std::memory_order_relaxed);
    persistent_turn_.dropped(persistent_.waiting());
}

int polled_set::completed_by_user(MPI_Request request, int code, MPI_Status &status) noexcept {
    persistent_requests::entry *known = persistent_.find(request);
    if (known == nullptr) {
        return code;
    }
    if (known->is_waited_for()) {
        finish_waiting(*known, status, code, false);
        return code;
    }
    if (code == MPI_SUCCESS && is_empty(status)) {
        status = known->status;
        code = known->error;
    }
    forget_answer(request);
    return code;
}

int polled_set::copy_answer(MPI_Request request, MPI_Status &status) const noexcept {
    const persistent_requests::entry *known = persistent_.find(request);
    if (known == nullptr || known->is_waited_for() || !is_empty(status)) {
        return MPI_SUCCESS;
    }
    status = known->status;
    return known->error;
}

void polled_set::forget_answer(MPI_Request request) noexcept {
    persistent_.forget_answer(request);
    count_persistent();
}

} // namespace thence::engine
