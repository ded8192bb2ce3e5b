// SPDX-License-Identifier: BSD-3-Clause
// The queue of tasks of one pool, and the count of the operations for which the pool polls. The class uses neither MPI
// nor oneTBB: its host supplies threads and makes progress.
//
// It runs in the loop of tbb/workers/loop.hpp, whose runners also poll between tasks. There are two kinds of runners:
//  - A worker has been sent by the host. It leaves when there is nothing to do.
//  - A waiting thread waits for a condition, runs tasks meanwhile, and leaves when the condition holds.
//
// Invariants while lock_ is held, beside those of the loop:
//  - If the host has no workers, tasks wait for the next waiting thread.
//  - While operations are outstanding, a runner searches, or one is on its way, or one is in a task and searches after
//    it. A task that suspends itself calls ensure_searching_worker() before.
//  - At most one runner polls. It counts as searching.
//  - Urgent work goes first in all that a runner does: urgent tasks before others; while an urgent operation is
//    outstanding, a poll after each other task, and in the poll the tests of urgent operations first; while an urgent
//    task is being resumed, the runner yields to its scheduler, which resumes it, after each other task.
//  - A runner that waits for a condition also polls while no operation of this queue is outstanding, unless the host
//    says that another thread does.
// `operations_` changes without the lock, so a completion takes no lock. The first operation takes the lock after it
// has counted itself, and a runner reads `operations_` under the lock before it leaves. So one of the two sees the
// other.
#pragma once

#include "tbb/workers/loop.hpp"
#include "tbb/workers/task_list.hpp"

#include <thence/backoff.h>
#include <thence/pools/detail/exports.hpp>

#include <atomic>

namespace thence::detail {

// What the queue needs of the pool that owns the threads.
class runner_host {
public:
    runner_host &operator=(runner_host &&) = delete;
    virtual ~runner_host() = default;
    // Sends a thread that calls run_as_worker(). @return false if there is none. Must not call the queue.
    virtual bool call() = 0;
    // Makes progress once. Callbacks may push tasks. @return true if a continuation or a timer is known to have run.
    virtual bool progress() noexcept = 0;
    // True if a runner that waits for a condition must poll while no operation of the queue is outstanding: the
    // condition may depend on other operations, for which no other thread polls. Called with the lock held.
    virtual bool polls_for_waiting() noexcept = 0;
    // Lets the scheduler of this thread run its other tasks first.
    virtual void yield() noexcept = 0;
    // Called when there is an operation or a runner that waits for a condition, and there was none before.
    virtual void began() noexcept = 0;
};

class work_queue : public workers::loop<work_queue> {
public:
    // The condition for which a runner waits.
    struct wait_condition {
        void *data;
        bool (*test)(void *);
        bool holds() const { return test(data); }
    };

    // `no_workers`: the host has no threads to send, so only waiting threads run tasks.
    explicit work_queue(runner_host &host, bool no_workers = false) noexcept : loop(!no_workers), host_(host) {}
    // Nothing may be left to do. Waits until all runners have left.
    ~work_queue() { wait_until_all_left(); }

    void push(pool_task &added, urgency how);
    // For a task that suspends itself. Only workers take it: the stack is suspended with the task, and that of a
    // waiting thread has the frames of the function that waits.
    void push_suspending(pool_task &added);
    // Runs the task once, after the next poll. A task that polls for an operation pushes itself again until that is
    // complete. The operation counts as outstanding meanwhile.
    void push_polling_task(pool_task &added, urgency how = urgency::normal) noexcept;
    // If this thread is in a poll for this queue, adds the task without the lock and returns true: the task is in the
    // queue after the poll. Else returns false.
    bool push_to_poller(pool_task &added, urgency how) noexcept;

    // Call it after MPI has started the operation, and before the continuation is attached or the request is tested.
    void begin_operation(urgency how = urgency::normal);
    // Call it before the receiver of the operation is completed, since the queue may be destroyed after that.
    void end_operation(urgency how = urgency::normal) noexcept;
    long operations() const noexcept { return operations_.load(std::memory_order_seq_cst); }
    // True if a runner waits for a condition.
    bool waited_for() const noexcept { return waiting_runners_.load(std::memory_order_seq_cst) > 0; }
    // Waits until no runner polls. Returns at once if operations are outstanding.
    void wait_for_poll_end() noexcept;

    // A task calls it before it suspends itself: makes sure that a worker searches or is on its way.
    void ensure_searching_worker();
    // A task calls it directly before it suspends itself: this thread is no runner until it searches again.
    static void clear_thread_state() noexcept;
    // True if this thread is a runner of this queue, so is in a task of it or polls for it.
    bool is_runner() const noexcept { return this_thread().queue == this; }
    // True if there are tasks, or operations are outstanding.
    bool busy() noexcept;
    // Call resuming() before a suspended task is resumed, and resumed() in that task afterwards. Between the two, the
    // runner that polls yields after each poll, so that the task runs.
    void resuming(urgency how = urgency::normal) noexcept {
        resuming_tasks_.fetch_add(1, std::memory_order_relaxed);
        if (how == urgency::high) {
            resuming_urgent_tasks_.fetch_add(1, std::memory_order_relaxed);
        }
    }
    void resumed(urgency how = urgency::normal) noexcept;
    // The watchdog calls it at intervals. @return true if there are tasks and none was begun since the last call, or
    // operations are outstanding and no poll has ended since. Then it has called another worker, and the caller should
    // make progress.
    bool check_stalled();

    // The number of polls so far, and of operations that completed in them. It grows fast while no task takes long.
    // (A poll itself may take long, if MPI copies large messages in it.)
    unsigned long poll_activity() noexcept;

    // This thread is a runner until the condition holds. `at_least_one_round`: before the first test of the condition
    // it runs the tasks that are in the queue, up to a bound, and polls if there is anything to poll for. That has no
    // effect in a task: other tasks would run on the stack of that task, nested without bound, and would be suspended
    // with it.
    void run_until(const wait_condition &condition, bool at_least_one_round = false) noexcept;
    template <class Condition> void run_until(Condition &condition, bool at_least_one_round = false) noexcept {
        const auto test = [](void *data) -> bool { return (*static_cast<Condition *>(data))(); };
        run_until(wait_condition{&condition, test}, at_least_one_round);
    }
    // What a thread that call() has sent does. Returns when there is nothing to do.
    void run_as_worker() noexcept;
    // True if the caller may run more work inside the task that this thread is in. It then calls end_nested() after the
    // work. False if this thread is in no task of this queue, or if too much of such work is nested already.
    bool begin_nested() noexcept;
    static void end_nested() noexcept;
    template <class Work> bool run_nested(Work &&work) noexcept {
        if (!begin_nested()) {
            return false;
        }
        work();
        end_nested();
        return true;
    }

private:
    using list = workers::task_list<pool_task>;

    static constexpr int max_nesting = 8;
    static constexpr int tasks_in_a_row = 64;
    // Large, since a poll may copy large messages, and ready tasks should send theirs before. If the tasks are long,
    // the watchdog finds that no thread polls (check_stalled()).
    static constexpr int tasks_between_polls = 128;
    static constexpr int polls_in_a_row = 32;

    // Where a thread is. A suspended task may be resumed on another thread, so these are hints: `queue` is only
    // compared.
    struct thread_position {
        const work_queue *queue = nullptr;
        bool worker = false;  // it is a worker, or waits for a condition in a task that a worker runs
        bool resumed = false; // it is in a task that has been suspended
        int nesting = 0;      // how much work is nested in the task
    };
    // No task is suspended in a poll, so these are exact.
    struct thread_state : thread_position {
        bool polls = false;
        unsigned long completed = 0; // operations that completed on this thread, of any queue
        list found;                  // the tasks that the current poll has added
        list found_urgent;
    };
    static thread_state &this_thread() noexcept { return workers::state_of_this_thread<thread_state>(); }

    // A worker may take tasks that suspend its stack, and yields to other tasks of its scheduler.
    struct runner : runner_base {
        explicit runner(const work_queue &queue, const wait_condition *waits_for = nullptr, bool one_round = false);
        const wait_condition *end; // null for a worker that the host has sent
        thread_position outer;     // of its thread, before
        bool at_least_one_round;
        bool poll_goes_first = false; // before the tasks that are ready
        bool after_other = false;     // since the last poll a task ran that was not urgent
        int in_a_row = 0;             // tasks, or polls that have found nothing
        int since_poll = 0;           // tasks
        thence_backoff backoff = THENCE_BACKOFF_INIT;
    };

    // For the loop, which says what they do. Only work_queue.cpp calls them, where they become a part of the loop.
    friend loop;
    bool goes_on(const runner &self) const noexcept;
    pool_task *take(runner &self) noexcept;
    void run(runner &self, pool_task &task) noexcept;
    bool ran(runner &self) noexcept;
    bool search(runner &self) noexcept;
    bool leaves(const runner &self) noexcept;
    bool needs_worker() const noexcept {
        return (searching_ == 0 && has_task()) || (searching_workers_ == 0 && !suspending_.empty());
    }
    bool send() { return host_.call(); }

    bool has_task() const noexcept { return !urgent_.empty() || !waiting_.empty(); }
    bool should_poll(const runner &self) noexcept;
    bool poll_is_next(const runner &self) const noexcept;
    void poll(runner &self) noexcept;
    void yield(runner &self, bool pause) noexcept;

    static void run_polling_tasks(pool_task *first) noexcept; // this one and those that it is linked to
    // Called with the lock held, which it releases meanwhile. @return true if the poll has found anything.
    bool poll_and_lock() noexcept;

    runner_host &host_;
    list urgent_;
    list waiting_;
    list suspending_;
    list polling_tasks_;
    list polling_urgent_;
    bool polling_ = false; // a runner polls
    unsigned long tasks_begun_ = 0;
    unsigned long tasks_begun_before_ = 0;
    unsigned long polls_ = 0;
    unsigned long polls_before_ = 0;
    unsigned long completed_in_polls_ = 0;
    std::atomic<int> resuming_tasks_{0};
    std::atomic<int> resuming_urgent_tasks_{0}; // of resuming_tasks_
    std::atomic<long> urgent_operations_{0};    // of operations_; decides only how soon a runner polls
    std::atomic<int> waiting_runners_{0};
    std::atomic<long> operations_{0};
};

} // namespace thence::detail
