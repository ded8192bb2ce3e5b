// SPDX-License-Identifier: BSD-3-Clause
#include "core/engine/polled_set.hpp"

#include "core/mpi/calls.hpp"
#include "core/mpi/cancel.hpp"
#include "core/mpi/error_code.hpp"
#include "core/mpi/persistent.hpp"

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <new>
#include <type_traits>
#include <utility>

namespace thence::engine {

using mpi::table;

namespace {

__attribute__((noinline)) void sort_by_index(int indices[], MPI_Status statuses[], int count) noexcept {
    for (int i = 1; i < count; ++i) { // at most a window, and almost sorted
        for (int j = i; j > 0 && indices[j - 1] > indices[j]; --j) {
            std::swap(indices[j - 1], indices[j]);
            std::swap(statuses[j - 1], statuses[j]);
        }
    }
}

template <class T> void enlarge(T *&array, int capacity) {
    static_assert(std::is_trivially_copyable_v<T>);
    auto *larger = static_cast<T *>(std::realloc(array, static_cast<std::size_t>(capacity) * sizeof(T)));
    if (larger == nullptr) {
        throw std::bad_alloc();
    }
    array = larger;
}

int error_class(int code) noexcept {
    int result = code;
    table.Error_class(code, &result);
    return result;
}

} // namespace

polled_set::list::~list() {
    std::free(requests);
    std::free(ops);
}

__attribute__((noinline)) void polled_set::list::grow() {
    constexpr int least = 64;
    const int more = std::max(least, 2 * capacity);
    enlarge(requests, more);
    enlarge(ops, more);
    capacity = more;
}

int polled_set::list::find(const operation &op) const noexcept {
    operation **const end = ops + count;
    operation **const found = std::find(ops, end, &op);
    return found == end ? -1 : static_cast<int>(found - ops);
}

// True if add() must test the operation.
inline bool polled_set::must_test(const operation &op) noexcept {
    return how_.check_on_add != nullptr ? how_.check_on_add(op.request) != 0 : op.in_group || worth_testing();
}

// A test of a pending request makes progress. On MPICH 4.0 that costs more than all other work for a continuation. So
// after 1,000 tests in a row that found nothing, only one call of add() in 64 tests its request, except for operations
// of groups. If a request that was not tested is complete, the next polls find it.
inline bool polled_set::worth_testing() noexcept {
    const int left = tests_to_skip_.load(std::memory_order_relaxed);
    if (left > 0) {
        tests_to_skip_.store(left - 1, std::memory_order_relaxed);
    }
    return left == 0;
}

inline void polled_set::test_found_nothing() noexcept {
    constexpr unsigned many = 1000;
    constexpr int one_in = 64;
    const unsigned unsuccessful = unsuccessful_tests_.load(std::memory_order_relaxed);
    if (unsuccessful < many) {
        unsuccessful_tests_.store(unsuccessful + 1, std::memory_order_relaxed);
    } else if (how_.check_on_add == nullptr) {
        tests_to_skip_.store(one_in - 1, std::memory_order_relaxed);
    }
}

// What is not found complete goes into owned_, or, while another thread holds the lock, into the inbox, which the next
// poll empties.
bool polled_set::add(operation &op) {
    op.path = completion_path::polled;
    op.error = MPI_SUCCESS;
    if (must_test(op) && complete_now(op)) [[unlikely]] {
        return true;
    }
    // Counted before it can be found complete, so the count never goes below zero.
    size_.fetch_add(1, std::memory_order_relaxed);
    if (lock_.try_lock_at_once()) [[likely]] {
        owned_.push(op);
        lock_.unlock();
    } else {
        add_to_inbox(op);
    }
    return false;
}

// Tests the request, and takes its results if it is complete.
bool polled_set::complete_now(operation &op) noexcept {
    int flag = 0;
    MPI_Status *status = wanted(op.status) ? op.status : MPI_STATUS_IGNORE;
    MPI_Request request = op.request; // some translation layers write to it although it is pending
    const int error = table.Test(&request, &flag, status);
    if (flag == 0 && error == MPI_SUCCESS) [[likely]] {
        test_found_nothing();
        return false;
    }
    unsuccessful_tests_.store(0, std::memory_order_relaxed);
    tests_to_skip_.store(0, std::memory_order_relaxed);
    if (wanted(op.status)) {
        if (flag == 0) {
            *op.status = mpi::empty_status(); // the call failed and did not set the status
        }
        op.status->MPI_ERROR = error;
    }
    op.error = error;
    op.path = completion_path::done;
    return true;
}

__attribute__((noinline)) void polled_set::add_to_inbox(operation &op) {
    std::scoped_lock guard(inbox_lock_);
    inbox_.push_back(&op);
    inbox_used_.store(true, std::memory_order_relaxed);
}

void polled_set::empty_inbox() noexcept {
    if (!inbox_used_.load(std::memory_order_relaxed)) {
        return;
    }
    std::scoped_lock guard(inbox_lock_);
    inbox_used_.store(false, std::memory_order_relaxed);
    for (operation *op : inbox_) {
        owned_.push(*op);
    }
    inbox_.clear();
}

void polled_set::poll(bool insist) noexcept {
    if (empty() || !lock_.try_lock()) {
        return;
    }
    polls_.store(polls_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    empty_inbox();
    poll_in_turn(owned_turn_, owned_.count, [this](int first, int count) {
        if (how_.read_complete != nullptr || how_.test_each) {
            poll_owned_one_by_one(first, count);
        } else {
            poll_owned_by_testsome(first, count);
        }
    });
    if (const int waiting = persistent_.waiting(); waiting != 0) {
        poll_in_turn(persistent_turn_, waiting, [this](int first, int count) { poll_persistent(first, count); });
    }
    if (insist) {
        test_next();
    }
    owned_turn_.left = owned_.count;
    persistent_turn_.left = persistent_.waiting();
    lock_.unlock();
}

void polled_set::test_next() noexcept {
    const int all = owned_.count + persistent_.waiting();
    if (all == 0) {
        return;
    }
    const int i = next_to_test_++ % all;
    next_to_test_ %= all;
    if (i >= owned_.count) {
        MPI_Status status = mpi::empty_status();
        int error = MPI_SUCCESS;
        persistent_requests::entry &known = persistent_.waiting(i - owned_.count);
        if (test_persistent(known.request, status, error)) {
            completed_by_poll(known.request, &known, status, error);
        }
    } else {
        test_owned(i);
    }
}

// `turn.left` is the number of entries after the last poll. If there are more now, the newest `window` entries are
// polled first: an operation that completes at once is found by the next poll, however many others are pending.
template <class Poll> void polled_set::poll_in_turn(rotation &turn, int count, Poll poll_range) noexcept {
    const int most = how_.read_complete != nullptr ? read_per_poll : tested_per_poll;
    if (count <= most) {
        if (count != 0) {
            poll_range(0, count);
        }
        return;
    }
    int rest = count;
    int in_turn = most;
    if (count > turn.left) {
        rest -= window;
        in_turn = most - window;
        poll_range(rest, window); // drop() fills gaps with entries from behind `rest`
    }
    if (turn.cursor >= rest) {
        turn.cursor = 0;
    }
    const int first = turn.cursor;
    const int next = std::min(in_turn, rest - first);
    turn.cursor += next;
    poll_range(first, next);
}

void polled_set::poll_owned_by_testsome(int first, int count) noexcept {
    int indices[tested_per_poll];
    MPI_Status statuses[tested_per_poll];
    int completed = 0;
    const int code = table.Testsome(count, owned_.requests + first, &completed, indices, statuses);
    if (code != MPI_SUCCESS && error_class(code) != MPI_ERR_IN_STATUS) {
        // MPI does not say which request failed, so each is tested.
        report_lost(first, count);
        poll_owned_one_by_one(first, std::min(count, owned_.count - first));
        return;
    }
    if (completed == MPI_UNDEFINED || completed <= 0) {
        return;
    }
    size_.fetch_sub(completed, std::memory_order_relaxed);
    const bool last_and_all = completed == count && first + count == owned_.count;
    // MPIs usually return the indices in order, but the standard does not require it.
    if (!last_and_all && !std::is_sorted(indices, indices + completed)) {
        sort_by_index(indices, statuses, completed);
    }
    operation **const tested = owned_.ops + first;
    if (code == MPI_SUCCESS) [[likely]] {
        for (int i = 0; i < completed; ++i) {
            hand_over(*tested[indices[i]], statuses[i], MPI_SUCCESS);
        }
    } else {
        hand_over_with_errors(tested, completed, indices, statuses);
    }
    if (last_and_all) {
        owned_.count = first;
        return;
    }
    // Highest first: drop() moves the last element into the gap, and that one is pending or lies beyond the window.
    // A thread that runs the operations' continuations meanwhile cannot access the set before we unlock it.
    for (int i = completed - 1; i >= 0; --i) {
        owned_.drop(first + indices[i]);
    }
    if (code != MPI_SUCCESS) [[unlikely]] {
        report_lost(first, std::min(count, owned_.count - first));
    }
}

// MPICH 5 and Intel MPI say that a generalized request has failed whose query function fails, but neither how nor, if
// others are complete, which.
__attribute__((noinline)) void polled_set::hand_over_with_errors(operation *const tested[], int completed,
                                                                 const int indices[],
                                                                 const MPI_Status statuses[]) noexcept {
    const bool any_has_error =
        std::any_of(statuses, statuses + completed, [](const auto &each) { return each.MPI_ERROR != MPI_SUCCESS; });
    int unknown = MPI_SUCCESS;
    if (!any_has_error) {
        const int code = mpi::report_on(
            MPI_COMM_NULL, "MPI_Testsome",
            {MPI_ERR_OTHER, completed == 1 ? "an operation failed, and MPI does not say how"
                                           : "an operation failed, and MPI does not say which of several, nor how"});
        unknown = completed == 1 ? code : int{MPI_SUCCESS};
    }
    for (int i = 0; i < completed; ++i) {
        const int error = statuses[i].MPI_ERROR;
        hand_over(*tested[indices[i]], statuses[i], error != MPI_SUCCESS ? mpi::code_of_function(error) : unknown);
    }
}

// If an operation fails, an MPI may also free requests that it does not return as complete (openmpi_requests.hpp).
__attribute__((noinline)) void polled_set::report_lost(int first, int count) noexcept {
    for (int i = first + count - 1; i >= first; --i) {
        if (owned_.requests[i] == MPI_REQUEST_NULL) {
            operation &op = *owned_.ops[i];
            owned_.drop(i);
            report(op, mpi::empty_status(),
                   mpi::report_on(MPI_COMM_NULL, "MPI_Testsome",
                                  {MPI_ERR_INTERN,
                                   "an operation failed, and MPI freed the request of this one without its result"}));
        }
    }
}

void polled_set::poll_owned_one_by_one(int first, int count) noexcept {
    for (int i = first + count - 1; i >= first; --i) {
        if (could_be_complete(owned_.requests[i])) [[unlikely]] {
            take_owned(i);
        }
    }
}

void polled_set::take_owned(int i) noexcept {
    operation &op = *owned_.ops[i];
    if (how_.take_plain == nullptr || !how_.take_plain(op.request, op.status)) [[unlikely]] {
        test_owned(i);
        return;
    }
    op.error = MPI_SUCCESS;
    set_path(op, completion_path::done);
    owned_.drop(i);
    size_.fetch_sub(1, std::memory_order_relaxed);
    sink_(op);
}

__attribute__((noinline)) void polled_set::test_owned(int i) noexcept {
    MPI_Status status = mpi::empty_status();
    int error = MPI_SUCCESS;
    if (test_one(owned_.requests[i], status, error)) {
        operation &op = *owned_.ops[i];
        owned_.drop(i);
        report(op, status, error);
    }
}

void polled_set::report(operation &op, const MPI_Status &status, int error) noexcept {
    size_.fetch_sub(1, std::memory_order_relaxed);
    hand_over(op, status, error);
}

// Tests one request. On true, `status` and `error` are set and a non-persistent request is released. A call that fails
// counts as completion with that error: MPI promises nothing about the operation afterwards.
bool polled_set::test_one(MPI_Request &request, MPI_Status &status, int &error) noexcept {
    int flag = 0;
    error = table.Test(&request, &flag, &status);
    return flag != 0 || error != MPI_SUCCESS;
}

void polled_set::take(operation &op, const MPI_Status &status, int error) noexcept {
    if (wanted(op.status)) {
        *op.status = status;
        op.status->MPI_ERROR = error;
    }
    op.error = error;
    set_path(op, completion_path::done);
}

inline void polled_set::hand_over(operation &op, const MPI_Status &status, int error) noexcept {
    take(op, status, error);
    sink_(op);
}

void polled_set::cancel(operation &op) noexcept {
    std::scoped_lock guard(lock_);
    if (op.path != completion_path::done && how_.may_cancel(op.request, op.path == completion_path::persistent)) {
        mpi::cancel(op.request);
    }
}

bool polled_set::may_cancel_noted(MPI_Request request, bool persistent) noexcept {
    return !persistent || mpi::noted_cancellable(request);
}

void polled_set::remove(operation &op) noexcept {
    std::scoped_lock guard(lock_);
    empty_inbox();
    bool removed = false;
    if (op.path == completion_path::persistent) {
        removed = persistent_.remove(op);
        count_persistent();
    } else if (const int at = owned_.find(op); at >= 0) {
        removed = true;
        owned_.drop(at);
        owned_turn_.dropped(owned_.count);
    }
    if (removed) {
        size_.fetch_sub(1, std::memory_order_relaxed);
        op.path = completion_path::done;
    }
}

} // namespace thence::engine
