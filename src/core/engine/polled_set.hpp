// SPDX-License-Identifier: BSD-3-Clause
// The set of operations whose completion is found by polling. Each poll tests a bounded number of them.
//
// One poll tests at most 2 * `window` operations. If the MPI can read whether a request is complete without making
// progress, a poll reads at most 4 * `window` requests and tests those that are complete. If operations were added
// since the last poll, the newest `window` are among those, since operations that were started last often complete
// first. The others are the next ones in rotation. So a poll costs O(window) for any number of operations, and each of
// n operations is tested after n / window + 1 polls at the latest while none completes (polls_to_see_all() in
// engine.hpp). A poll also tests as many persistent requests, once for all operations that wait for one request.
//
// Invariant: while `lock_` is free, owned_.requests[i] is the request of owned_.ops[i]. An operation is removed from
// the set and passed to the sink under one lock. An owned request is released with its results; a persistent
// request is not. So each operation is reported once. An owned operation that is added during a poll goes into
// the inbox, so no thread waits for a poll.
#pragma once

#include "core/base/spin_lock.hpp"
#include "core/engine/operation.hpp"
#include "core/engine/persistent_requests.hpp"

#include <atomic>
#include <vector>

namespace thence::engine {

class polled_set {
public:
    static constexpr int window = 32;
    static constexpr int tested_per_poll = 2 * window;
    static constexpr int read_per_poll = 4 * window; // if the MPI has methods::read_complete

    // What differs between MPIs.
    struct methods {
        // Returns whether one request is complete, without making progress. Null if the MPI has no such function.
        int (*read_complete)(MPI_Request) = nullptr;
        // True if MPI_Testsome may lose a pending request (openmpi_requests.hpp): MPI_Test is called for each instead.
        bool test_each = false;
        // Called for each request that is added. False if it is pending; it may make progress. Null if the MPI has no
        // function for that which costs less than MPI_Test: see worth_testing().
        int (*check_on_add)(MPI_Request) = nullptr;
        // Takes the results of a complete request and releases it, without a call of MPI. False, and nothing has
        // happened, if that needs MPI_Test. Null if the MPI has no such means.
        bool (*take_plain)(MPI_Request, MPI_Status *) = nullptr;
        // Completes a persistent request as MPI_Test does. Null if MPI_Test itself can be used.
        int (*test_persistent)(MPI_Request *request, int *flag, MPI_Status *status) = nullptr;
        // True if MPI_Cancel may be called for the request.
        bool (*may_cancel)(MPI_Request request, bool persistent) = &may_cancel_noted;
    };

    // `results_wanted`: answers are kept. Without interposition no call would fetch them.
    void configure(void (*sink)(operation &), bool results_wanted, const methods &how) noexcept {
        sink_ = sink;
        results_wanted_ = results_wanted;
        how_ = how;
    }

    // True for every request, except a persistent one that is not noted as cancellable.
    static bool may_cancel_noted(MPI_Request request, bool persistent) noexcept;

    // Returns true if the operation was found complete; its results are taken then. Else it is in the set. An operation
    // that is not in a group is not always tested: see worth_testing().
    bool add(operation &op);
    // As add(), for a persistent request. The request stays with the user.
    bool add_persistent(operation &op);

    // Tests the operations whose turn it is, and passes those that are complete to the sink. If another thread polls,
    // it returns at once.
    // `insist`: it also tests the next operation in turn by MPI_Test, without read_complete() before. That makes MPI
    // progress, and some requests (of ROMIO on MPICH) complete only when they are tested.
    void poll(bool insist = false) noexcept;

    bool empty() const noexcept { return size_.load(std::memory_order_relaxed) == 0; }
    // True if operations wait for any persistent request.
    bool any_waited_for() const noexcept { return waiting_count_.load(std::memory_order_relaxed) != 0; }
    // True if there is an answer: see persistent_requests.hpp.
    bool has_answers() const noexcept { return answer_count_.load(std::memory_order_relaxed) != 0; }
    unsigned long long polls() const noexcept { return polls_.load(std::memory_order_relaxed); }

    void cancel(operation &op) noexcept;
    void remove(operation &op) noexcept;

private:
    friend class shared_persistent; // the user's calls on persistent requests

    // Two arrays of one length, of which the first `count` entries are in use. They grow in place where they can.
    struct list {
        MPI_Request *requests = nullptr;
        operation **ops = nullptr;
        int count = 0;
        int capacity = 0;
        list &operator=(list &&) = delete;
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
    bool must_test(const operation &op) noexcept;
    bool worth_testing() noexcept;
    void test_found_nothing() noexcept;
    static bool test_one(MPI_Request &request, MPI_Status &status, int &error) noexcept;
    static void take(operation &op, const MPI_Status &status, int error) noexcept;
    void add_to_inbox(operation &op);
    void empty_inbox() noexcept;
    template <class Poll> void poll_in_turn(rotation &turn, int count, Poll poll_range) noexcept;
    void poll_owned_by_testsome(int first, int count) noexcept;
    void hand_over_with_errors(operation *const tested[], int completed, const int indices[],
                               const MPI_Status statuses[]) noexcept;
    void report_lost(int first, int count) noexcept;
    void take_owned(int i) noexcept;
    void test_owned(int i) noexcept;
    void poll_owned_one_by_one(int first, int count) noexcept;
    void poll_persistent(int first, int count) noexcept;
    void test_next() noexcept;
    bool test_persistent(MPI_Request request, MPI_Status &status, int &error) noexcept;
    void completed_by_poll(MPI_Request request, persistent_requests::entry *known, const MPI_Status &status, int error);
    void finish_waiting(persistent_requests::entry &known, const MPI_Status &status, int error, bool keep_answer);
    void count_persistent() noexcept;
    int completed_by_user(MPI_Request request, int code, MPI_Status &status) noexcept;
    int copy_answer(MPI_Request request, MPI_Status &status) const noexcept;
    void forget_answer(MPI_Request request) noexcept;
    void report(operation &op, const MPI_Status &status, int error) noexcept;
    void hand_over(operation &op, const MPI_Status &status, int error) noexcept;
    bool could_be_complete(MPI_Request request) const noexcept {
        return how_.read_complete == nullptr || how_.read_complete(request) != 0;
    }

    void (*sink_)(operation &) = nullptr;
    bool results_wanted_ = false;
    methods how_;
    base::spin_lock lock_; // held while a poll tests operations
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
    // See worth_testing(). They need not be exact, so two threads may count at the same time and lose one.
    std::atomic<unsigned> unsuccessful_tests_{0};
    std::atomic<int> tests_to_skip_{0}; // so many of the next calls of add() do not test
    std::atomic<unsigned long long> polls_{0};
};

} // namespace thence::engine
