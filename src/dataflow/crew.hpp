// SPDX-License-Identifier: BSD-3-Clause
// The threads that run the tasks of one flow, and the queue of its ready tasks. A thread of the arena that is in
// run_as_worker() is a worker: it searches for a task, runs it, searches again, and leaves after 200 searches that found
// none. One task of oneTBB is enough for many of ours. If what it waits for comes from elsewhere, such as a message, it
// polls for that before it leaves.
//
// Invariants, under the lock:
//  - While a task is ready, a worker searches or has been called (`called_`). So a long task does not delay the others:
//    a worker that takes a task and leaves others in the queue calls a worker.
//  - A worker that polls counts as one that searches (`polling_` of `searching_`), until it is known that one call of the
//    poll lasts (poll_watchdog.hpp). If all that search poll, they are relied on for one task in the queue; for more, a
//    worker is called. So a call that lasts delays one task, usually by less than 5 ms, if another worker is free.
//  - A worker leaves if suspended stacks are to be resumed, which only a thread outside of run_as_worker() can do.
//  - The crew is idle while no task is ready and none runs. It becomes idle only where `running_` is decremented, and the
//    thread that does so calls tell_if_idle(). A thread that waits for it increments `idle_waiters_` first and then asks
//    is_idle(). Both hold the lock: so the waiter finds the crew idle, or whoever makes it idle finds the waiter.
//    tests/model/submit_throttle.pml checks all interleavings.
#pragma once

#include "dataflow/poll_watchdog.hpp"
#include "dataflow/ready_queue.hpp"
#include "dataflow/workers.hpp"

#include <chrono>
#include <mutex>

namespace thence::dataflow {

// What a thread knows about what it is doing. A task may change threads in every call of suspend(), so ask again then.
struct thread_state {
    task *running = nullptr;
    bool in_onready = false;
    const std::atomic<bool> *recalled = nullptr; // its first stack, if that is suspended: whether it is to be resumed
    void (*at_end)() noexcept = nullptr;         // called once, when the thread next stops to run tasks
};
// Not inlined, nor taken for a function that always returns the same: the compiler may keep the address of a thread's
// variable across a change of threads.
#if defined(__clang__)
[[gnu::noinline]]
#else
[[gnu::noipa]]
#endif
thread_state &
this_thread() noexcept;

class crew {
public:
    // `run` runs a task, and returns another one that became ready, or null. `on_idle` is called with `data` when the crew
    // becomes idle, if idle_waiters() is not zero.
    crew(int workers, task *(*run)(task &) noexcept, void (*on_idle)(void *data) noexcept, void *data)
        : workers_(workers), run_(run), on_idle_(on_idle), on_idle_data_(data), arena_(workers) {}
    crew(const crew &) = delete;
    crew &operator=(const crew &) = delete;
    // Nothing may be left to do. Waits for the threads that have just done it.
    ~crew();

    // While such an object exists, the crew is not destroyed.
    class guest {
    public:
        explicit guest(crew &of) noexcept : of_(of) { of.calling_.fetch_add(1, std::memory_order_relaxed); }
        ~guest() { of_.calling_.fetch_sub(1, std::memory_order_release); }
        guest(const guest &) = delete;
        guest &operator=(const guest &) = delete;

    private:
        crew &of_;
    };

    int workers() const noexcept { return workers_; }

    void push(task &ready) noexcept;
    void push(task_list &ready) noexcept;
    // Whether a task that has just become ready may run before all that wait.
    bool goes_first(const task &ready) const noexcept { return ready.priority >= queue_.best(); }

    // Suspends the running task, which is one of this crew's, or a thread that is in no task: then this thread becomes one
    // of the crew until it is resumed.
    void suspend(suspended &stack, const arrangement &resumed_by);
    static void resume(suspended &stack) noexcept;

    // Workers of all crews call it while they find no task, until it returns 0. Null: nothing.
    static void poll_while_idle(int (*poll)()) noexcept { idle_poll_.store(poll, std::memory_order_release); }

    // The watchdog has found a worker of this crew in a call of the poll that lasts: it no longer counts as searching.
    void polls_late() noexcept;

    // How many wait until the crew is idle. Increment it before you ask is_idle(): if the answer is no, `on_idle` is called.
    std::atomic<int> &idle_waiters() noexcept { return idle_waiters_; }
    bool is_idle() noexcept {
        const std::scoped_lock guard(lock_);
        return nothing_runs();
    }

private:
    static constexpr int most_searches = 200; // that find no task, before a worker leaves
    static constexpr std::chrono::microseconds most_polling{50}, lost_processor{500};
    static std::atomic<int (*)()> idle_poll_;

    void suspend_here(suspended &stack, const arrangement &resumed_by);
    static void this_thread_stops() noexcept;
    void suspend_for_other(suspended &stack, const arrangement &resumed_by);
    void run_as_worker() noexcept;
    bool search_again() noexcept;
    bool leaves_tasks_to_searchers() const noexcept;
    bool poll_for_a_task() noexcept;
    bool poll_until_a_task(int (*poll)(), poll_watchdog::poller &self) const noexcept;
    bool gives_way() const noexcept;
    bool nothing_runs() const noexcept { return running_ == 0 && queue_.empty(); }
    void tell_if_idle() noexcept;
    void call_and_unlock() noexcept;

    const int workers_;
    task *(*const run_)(task &) noexcept;
    void (*const on_idle_)(void *) noexcept;
    void *const on_idle_data_;
    base::spin_lock lock_;
    ready_queue queue_;
    int searching_ = 0;
    int polling_ = 0; // of those
    int inside_ = 0;
    int called_ = 0;
    int running_ = 0; // threads that run a task which is not suspended
    std::atomic<int> idle_waiters_{0};
    std::atomic<int> calling_{0};  // threads that are about to return from arena::call()
    std::atomic<int> resuming_{0}; // stacks that are to be resumed
    arena arena_;
};

} // namespace thence::dataflow
