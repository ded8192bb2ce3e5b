// SPDX-License-Identifier: BSD-3-Clause
// The set of operations whose completion is found by polling. Each poll looks at a bounded number of them.
//
// Each poll looks at 2 * `window` operations, or at 4 * `window` if the MPI has a peek(). If any were added since the
// last poll, it looks at the newest `window`, since operations that were started last often complete first. The others
// are the next ones in rotation. So a poll costs O(window) for any number of operations, and looks at each operation
// after ceil(n / window) + 1 polls at the latest. It also looks at as many persistent requests, once for all operations
// that wait for one request.
//
// Invariant: while `lock_` is free, owned_.requests[i] is the request of owned_.ops[i]. An operation is removed from
// the set and passed to the sink under one lock. MPI's own completion call releases an owned request; a kept request is
// not released. So each operation is reported once. An owned operation that is added during a poll goes into the inbox,
// so no thread waits for a poll.
#pragma once

#include "base/spin_lock.hpp"
#include "engine/operation.hpp"
#include "engine/persistent_requests.hpp"

#include <atomic>
#include <mutex>
#include <vector>

namespace thence::engine {

class polled_set {
public:
    static constexpr int window = 32;
    static constexpr int most_tested = 2 * window;
    static constexpr int most_peeked = 4 * window;

    // What differs between MPIs.
    struct methods {
        // Reads whether one request is complete without entering MPI's progress. Null if the MPI has no such function.
        int (*peek)(MPI_Request) = nullptr;
        // Finds out whether a request that is added may be complete, if the MPI has a cheaper way than MPI_Test. Null:
        // see worth_asking().
        int (*look)(MPI_Request) = nullptr;
        // Completes a persistent request as MPI_Test does. Null if MPI_Test itself can be used.
        int (*test_kept)(MPI_Request *request, int *flag, MPI_Status *status) = nullptr;
        // True if MPI_Cancel may be called for the request. `keep`: it is persistent.
        bool (*may_cancel)(MPI_Request request, bool keep) = &may_cancel_noted;
    };

    // `results_wanted`: answers are kept. Without interposition no call would fetch them.
    void configure(void (*sink)(operation &), bool results_wanted, const methods &how) noexcept {
        sink_ = sink;
        results_wanted_ = results_wanted;
        how_ = how;
    }

    // True for every request, except a persistent one that is not noted as cancellable.
    static bool may_cancel_noted(MPI_Request request, bool keep) noexcept;

    // Returns true if the operation was found complete; its results are taken then. Else it is in the set. A single
    // operation is not always tested: see worth_asking().
    bool add(operation &op) {
        op.path = completion_path::polled;
        op.error = MPI_SUCCESS;
        if ((how_.look != nullptr ? how_.look(op.request) != 0 : op.in_group || worth_asking()) && complete_now(op))
            [[unlikely]] {
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
    // As add(), for a persistent request. The request stays with the user.
    bool add_kept(operation &op);

    // Looks at the next windows. If another thread polls, it returns at once.
    // `insist`: it also tests one operation by MPI_Test, in turn, without a peek() first. That makes MPI progress, and
    // some requests (of ROMIO on MPICH) complete only when they are tested.
    void poll(bool insist = false) noexcept;

    bool empty() const noexcept { return size_.load(std::memory_order_relaxed) == 0; }
    bool keeps() const noexcept { return waiting_count_.load(std::memory_order_relaxed) != 0; }
    bool has_answers() const noexcept { return answer_count_.load(std::memory_order_relaxed) != 0; }
    unsigned long long polls() const noexcept { return polls_.load(std::memory_order_relaxed); }

    void cancel(operation &op) noexcept;
    void remove(operation &op) noexcept;

    // For interposition: true if there may be an entry for a persistent request. Takes no lock. False is reliable on a
    // thread that may use the request now (see persistent_requests.hpp).
    static bool may_know(MPI_Request request) noexcept { return may_be_known(request); }
    // Runs `call`, an MPI completion call on persistent requests. Meanwhile no poll looks at any of them. `call` may
    // use the functions below. The cost of each does not depend on the number of persistent requests.
    template <class Call> int exclusively(Call &&call) noexcept {
        std::scoped_lock guard(lock_);
        collect();
        return call();
    }
    // Under exclusively(): true if operations wait for `request`, or a poll completed it and its user has not asked
    // yet.
    bool knows(MPI_Request request) const noexcept { return persistent_.find(request) != nullptr; }
    bool is_kept(MPI_Request request) const noexcept {
        const auto *known = persistent_.find(request);
        return known != nullptr && known->is_waited_for();
    }
    // Under exclusively(): the user's call of MPI has just returned that `request` is complete, with `code` and
    // `status`. If MPI found it inactive because a poll had completed it, this returns the code that the poll got and
    // sets `status` to the poll's status, once. All operations that wait for the request become complete.
    int completed_by_user(MPI_Request request, int code, MPI_Status &status) noexcept;
    // Returns the answer and keeps it. `status` is unchanged if MPI did not find the request inactive.
    int see_answer(MPI_Request request, MPI_Status &status) const noexcept;
    // Under exclusively(): the request was started again or freed, so its answer is dropped.
    void forget_answer(MPI_Request request) noexcept;

    // Under exclusively(): the user freed `request` while operations wait for it. MPI_Request_free is called after the
    // last of them.
    void release_after(MPI_Request request) noexcept { persistent_.find(request)->freed = true; }

private:
    // Two arrays of one length, of which the first `count` entries are in use. They grow in place where they can.
    struct list {
        MPI_Request *requests = nullptr;
        operation **ops = nullptr;
        int count = 0;
        int capacity = 0;
        list() = default;
        list(const list &) = delete;
        list &operator=(const list &) = delete;
        ~list();
        void push(operation &op) {
            if (count == capacity) [[unlikely]] {
                grow();
            }
            requests[count] = op.request;
            ops[count] = &op;
            ++count;
        }
        void drop(int i) noexcept {
            --count;
            requests[i] = requests[count];
            ops[i] = ops[count];
        }
        int find(const operation &op) const noexcept;
        void grow();
    };
    // The position in an array at which the next poll continues.
    struct rotation {
        int cursor = 0;
        int left = 0; // entries after the last poll; if there are more now, some were added
        void dropped(int count) noexcept { left = left < count ? left : count; }
    };

    bool complete_now(operation &op) noexcept;
    // A test of a pending request makes progress. On MPICH 4.0 that costs more than all other work for a continuation.
    // So after 1,000 tests in a row that found nothing, only one addition in 64 tests its request. If a request that
    // was not tested is complete, the next polls find it.
    bool worth_asking() noexcept {
        const int left = unasked_.load(std::memory_order_relaxed);
        if (left > 0) {
            unasked_.store(left - 1, std::memory_order_relaxed);
        }
        return left == 0;
    }
    void asked_in_vain() noexcept {
        constexpr unsigned many = 1000;
        constexpr int one_in = 64;
        const unsigned vain = vain_.load(std::memory_order_relaxed);
        if (vain < many) {
            vain_.store(vain + 1, std::memory_order_relaxed);
        } else if (how_.look == nullptr) {
            unasked_.store(one_in - 1, std::memory_order_relaxed);
        }
    }
    void add_to_inbox(operation &op);
    void collect() noexcept;
    template <class Look> void poll_in_turn(rotation &turn, int count, Look look) noexcept;
    void look_owned_testsome(int first, int count) noexcept;
    void test_owned(int i) noexcept;
    void look_owned_one_by_one(int first, int count) noexcept;
    void look_kept(int first, int count) noexcept;
    void test_next() noexcept;
    bool test_kept(MPI_Request request, MPI_Status &status, int &error) noexcept;
    void completed_by_poll(MPI_Request request, persistent_requests::entry *known, const MPI_Status &status, int error);
    void finish_waiting(persistent_requests::entry &known, const MPI_Status &status, int error, bool keep_answer);
    void count_persistent() noexcept;
    void report(operation &op, const MPI_Status &status, int error) noexcept;
    void hand_over(operation &op, const MPI_Status &status, int error) noexcept;
    bool looks_complete(MPI_Request request) const noexcept { return how_.peek == nullptr || how_.peek(request) != 0; }

    void (*sink_)(operation &) = nullptr;
    bool results_wanted_ = false;
    methods how_;
    base::spin_lock lock_; // held while a poll looks at operations
    base::spin_lock inbox_lock_;
    int next_to_test_ = 0;
    std::vector<operation *> inbox_;
    std::atomic<bool> inbox_used_{false};
    list owned_;
    rotation owned_turn_;
    persistent_requests persistent_;
    rotation persistent_turn_;
    std::atomic<std::size_t> answer_count_{0}; // copies of the counts of `persistent_`, read without the lock
    std::atomic<int> waiting_count_{0};
    std::atomic<long> size_{0};
    // See worth_asking(). They need not be exact, so a race may lose a count.
    std::atomic<unsigned> vain_{0};
    std::atomic<int> unasked_{0}; // the next additions that do not test
    std::atomic<unsigned long long> polls_{0};
};

} // namespace thence::engine
