// SPDX-License-Identifier: BSD-3-Clause
// The threads that run the tasks of one flow, and the queue of its ready tasks: the loop of tbb/workers/loop.hpp, on an
// arena. All its runners are workers. Between two tasks a worker calls the busy poll, at most every 20 microseconds.
// After 200 searches in vain it calls the idle poll for a short time, then leaves. So does one whose thread is to
// resume a suspended stack, since only a thread outside of the loop does that.
//
// Invariants, under the lock, beside those of the loop:
//  - A polling worker (`polling_`) counts as searching until the watchdog finds that a call of its poll lasts long
//    (poll_watchdog.hpp). If all searching workers poll, they get one task of the queue, and for more a worker is
//    called. So a long call delays one task, usually by less than 5 ms, if another worker is free. A worker that polls
//    between two tasks may hold the second, which counts as running. The watchdog puts that into the queue, too.
//  - The scheduler is idle while no task is ready and none runs. It becomes idle only where `running_` is decremented.
//    The thread that does so calls tell_if_idle(). A thread that waits for it increments `idle_waiters_` first and
//    calls is_idle() then. Both hold the lock. So either the waiter finds the scheduler idle, or the thread that makes
//    it idle finds the waiter. tests/model/submit_throttle.pml checks all interleavings, and
//    tests/dataflow/schedules/throttling.cpp all schedules of these sources with at most two preemptions.
#pragma once

#include "core/base/clock.hpp"
#include "dataflow/late_workers.hpp"
#include "dataflow/poll_watchdog.hpp"
#include "dataflow/ready_queue.hpp"
#include "tbb/workers/arena.hpp"
#include "tbb/workers/loop.hpp"

#include <cstdint>
#include <mutex>

namespace thence::dataflow {

class task_scheduler;

// The state of one thread.
struct thread_state {
    task *running = nullptr;
    bool in_onready = false;
    // The task whose body the thread runs, or null.
    task *in_body() const noexcept { return in_onready ? nullptr : running; }
    const task_scheduler *polls_for = nullptr; // the thread is a worker of it, inside of a poll
    // If the first stack of the thread is suspended: whether it is to be resumed.
    const std::atomic<bool> *resume_requested = nullptr;
    void (*at_end)() noexcept = nullptr; // called once, when the thread stops running tasks
};
inline thread_state &this_thread() noexcept {
    return workers::state_of_this_thread<thread_state>();
}

using workers::after_suspend;
using workers::suspended;

class task_scheduler : public workers::loop<task_scheduler> {
public:
    // `run_task` runs a task. It returns another task that became ready, or null. `on_idle` is called with `data` when
    // the scheduler becomes idle while idle_waiters() is not zero.
    task_scheduler(int workers, task *(*run_task)(task &) noexcept, void (*on_idle)(void *data) noexcept, void *data)
        : workers_(workers), run_(run_task), on_idle_(on_idle), on_idle_data_(data), arena_(workers) {}
    // No task may be left. Waits until all threads have left the scheduler.
    ~task_scheduler() {
        wait_until_all_left(); // also for a worker that does not come, for which the timer makes a substitute
        watched_.remove();
        wait_until_all_left(); // for such a thread
    }

    int workers() const noexcept { return workers_; }

    void push(task &ready) noexcept;
    void push(task_list &ready) noexcept;
    // Whether a task that became ready may run before all tasks in the queue.
    bool goes_first(const task &ready) const noexcept { return ready.priority >= queue_.best(); }

    // Suspends the running task of this scheduler, a poll of its worker, or a thread that is in neither. Such a thread
    // runs tasks of this scheduler until it is resumed.
    void suspend(suspended &stack, const after_suspend &after);

    // The idle poll of all schedulers, or null. Workers that find no task call it until it returns 0.
    static void poll_while_idle(int (*poll)()) noexcept { idle_poll_.store(poll, std::memory_order_release); }
    // What workers of all schedulers call between two tasks, or null.
    static void poll_between_tasks(int (*poll)()) noexcept { busy_poll_.store(poll, std::memory_order_release); }

    // The timer of late_workers.hpp calls it. @return whether a thread is lacking, perhaps for a moment only.
    bool look_for_late_worker() noexcept;

    // A call of the poll lasts long, so its worker no longer counts as searching. The watchdog calls it.
    void polls_late(poll_watchdog::poller &late) noexcept;

    // How many threads wait until the scheduler is idle. Increment it before is_idle(): if that is false, `on_idle`
    // will be called.
    std::atomic<int> &idle_waiters() noexcept { return idle_waiters_; }
    bool is_idle() noexcept {
        const std::scoped_lock guard(lock_);
        return nothing_runs();
    }

private:
    static constexpr int most_searches = 200;                                      // in vain, before a worker leaves
    static constexpr std::int64_t most_polling = 50'000, lost_processor = 500'000; // nanoseconds
    static constexpr std::int64_t longest_polling = 25'000'000; // of the first that polls, while that may last
    static constexpr int may_last = 2;                          // a poll returns it
    static constexpr std::int64_t polls_every = 20'000;         // nanoseconds, between tasks
    static constexpr int most_unlooked = 16;                    // tasks without a look at the clock
    static std::atomic<int (*)()> idle_poll_, busy_poll_;

    void suspend_here(suspended &stack, const after_suspend &after);
    static void this_thread_stops() noexcept;
    void start_substitute() noexcept;
    void substitute() noexcept;
    bool lacks_worker() const noexcept;
    void suspend_outside_of_tasks(suspended &stack, const after_suspend &after);
    bool search_again() noexcept;
    bool poll_for_a_task() noexcept;
    task *poll_once(task *held) noexcept;
    template <class Polls> bool watch(poll_watchdog::poller &self, Polls &&polls) noexcept;
    bool poll_until_a_task(int (*poll)(), bool is_first, poll_watchdog::poller &self) const noexcept;
    bool must_leave() const noexcept;
    bool nothing_runs() const noexcept { return running_ == 0 && queue_.empty(); }
    void tell_if_idle() noexcept;

    struct runner : runner_base {
        explicit runner(const task_scheduler &) noexcept
            : polled(busy_poll_.load(std::memory_order_relaxed) != nullptr ? base::read_clock() : 0) {}
        task *next = nullptr; // not run yet, since the runner leaves or polls
        // When it polls between two tasks. Most tasks are short, so it looks at the clock after several of them.
        std::int64_t polled;               // or when the runner began
        int until_look = 1, each_look = 1; // tasks
        bool poll_is_due = false;
    };
    static void see_whether_poll_is_due(runner &self) noexcept;
    // For the loop, which says what they do.
    friend loop;
    static bool goes_on(const runner &) noexcept { return true; }
    task *take(runner &) noexcept;
    void run(runner &self, task &first) noexcept;
    bool ran(runner &self) noexcept;
    bool search(runner &) noexcept;
    bool leaves(const runner &) noexcept;
    bool needs_worker() const noexcept;
    bool send() noexcept;

    const int workers_;
    task *(*const run_)(task &) noexcept;
    void (*const on_idle_)(void *) noexcept;
    void *const on_idle_data_;
    ready_queue queue_;
    int polling_ = 0; // of the searching workers
    int running_ = 0; // tasks that run and are not suspended
    std::atomic<int> idle_waiters_{0};
    std::atomic<int> resuming_{0};     // stacks that are to be resumed
    std::atomic<unsigned> resumed_{0}; // stacks that have been resumed
    // If a thread was lacking at the last inspection: the sum of arrived_ and resumed_ at which that one has come. 0:
    // none was lacking.
    unsigned awaited_ = 0;
    int substitutes_ = 0; // threads in place of late workers
    workers::arena arena_;
    late_workers::watched watched_{*this}; // the last member: the timer uses the others
};

} // namespace thence::dataflow
