// SPDX-License-Identifier: BSD-3-Clause
// The set of operations that are found complete by looking at them, a bounded number at a time.
//
// Each poll looks at 2 `window` operations, or 4 where a look is cheap: at the newest `window` if any were added since
// the last poll, since what was started last often completes first, and at the next ones in rotation. So a poll costs
// O(window) however many operations wait, and no operation waits for more than ceil(n / window) + 1 polls to be looked
// at. Of persistent requests it looks at so many besides, each once for all operations that wait for it.
//
// Invariant: while `lock_` is free, owned_.requests[i] is the request of owned_.ops[i]. An operation leaves the set
// under the lock under which the sink hears of it, and its request is released by MPI's own completion call (owned) or
// not at all (kept), so each is reported once. Owned ones that come during a poll are added to an inbox: no one waits
// for a poll.
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
        // Looks at one request without entering MPI's progress; null where the MPI has no such look.
        int (*peek)(MPI_Request) = nullptr;
        // How to find out that a request which is added may be complete, where that is cheaper than MPI_Test. Null: see
        // worth_asking().
        int (*look)(MPI_Request) = nullptr;
        // Completes a persistent request for us, as MPI_Test; null where MPI_Test is good for that.
        int (*test_kept)(MPI_Request *request, int *flag, MPI_Status *status) = nullptr;
        // May MPI be asked to cancel it? `keep`: it is persistent.
        bool (*may_cancel)(MPI_Request request, bool keep) = &may_cancel_noted;
    };

    // `results_wanted`: answers are kept. Without interposition nobody would ask for them.
    void configure(void (*sink)(operation &), bool results_wanted, const methods &how) noexcept {
        sink_ = sink;
        results_wanted_ = results_wanted;
        how_ = how;
    }

    // Anything but persistent requests that are not noted as cancellable.
    static bool may_cancel_noted(MPI_Request request, bool keep) noexcept;

    // Returns true if the operation was complete at once (results taken); else it is in the set. Whether that of a
    // single operation is asked at all: see worth_asking().
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
    // The same as add() for a persistent request, which stays the user's.
    bool add_kept(operation &op);

    // Looks at the next windows. A poll that finds another thread at it returns at once.
    // `insist`: tests one operation by MPI itself, in turn, whatever a look at it says: that makes MPI progress, and
    // some requests (of ROMIO on MPICH) complete only when they are tested.
    void poll(bool insist = false) noexcept;

    bool empty() const noexcept { return size_.load(std::memory_order_relaxed) == 0; }
    bool keeps() const noexcept { return waiting_count_.load(std::memory_order_relaxed) != 0; }
    bool has_answers() const noexcept { return answer_count_.load(std::memory_order_relaxed) != 0; }
    unsigned long long polls() const noexcept { return polls_.load(std::memory_order_relaxed); }

    void cancel(operation &op) noexcept;
    void remove(operation &op) noexcept;

    // For interposition. May anything be known of a persistent request? Takes no lock; false is certain to whoever may
    // use the request now (see persistent_requests.hpp).
    static bool may_know(MPI_Request request) noexcept { return may_be_known(request); }
    // Runs `call`, an MPI completion call on persistent requests, while no poll looks at any. `call` may use the
    // functions below. Each costs the same however many persistent requests there are.
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
    // Under exclusively(): a call of MPI just answered its user that `request` is complete, with `code` and `status`.
    // If it found it inactive because a poll had completed it, what the poll got is the answer, given once; `status` is
    // changed. Every operation that waits for it is complete.
    int completed_by_user(MPI_Request request, int code, MPI_Status &status) noexcept;
    // The answer without giving it up. MPI's own status stays if the request was not found inactive.
    int see_answer(MPI_Request request, MPI_Status &status) const noexcept;
    // Under exclusively(): it is started anew, or gone.
    void forget_answer(MPI_Request request) noexcept;

    // Under exclusively(): the user freed `request` while operations wait for it; MPI frees it after the last.
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
    // Where the next poll goes on in an array.
    struct rotation {
        int cursor = 0;
        int left = 0; // how many the last poll left: if there are more, some were added since
        void dropped(int count) noexcept { left = left < count ? left : count; }
    };

    bool complete_now(operation &op) noexcept;
    // A test of what is pending makes progress: on MPICH 4.0 that costs more than all else that a continuation takes.
    // So after many vain tests in a row only some additions ask. What is complete and goes unnoticed by that is found
    // by the next poll.
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
    base::spin_lock lock_; // held while MPI tests a window
    base::spin_lock inbox_lock_;
    int next_to_test_ = 0;
    std::vector<operation *> inbox_;
    std::atomic<bool> inbox_used_{false};
    list owned_;
    rotation owned_turn_;
    persistent_requests persistent_;
    rotation persistent_turn_;
    std::atomic<std::size_t> answer_count_{0}; // as `persistent_` has it
    std::atomic<int> waiting_count_{0};
    std::atomic<long> size_{0};
    // See worth_asking(); guides only, so racing threads may lose a count.
    std::atomic<unsigned> vain_{0};
    std::atomic<int> unasked_{0}; // additions to come that do not ask
    std::atomic<unsigned long long> polls_{0};
};

} // namespace thence::engine
