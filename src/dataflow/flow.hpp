// SPDX-License-Identifier: BSD-3-Clause
// A task graph: a task from its submission to its completion.
//
//   submit    its accesses are appended to their chains; it waits for those that may not run yet
//   run       a thread of the scheduler calls onready, then the body
//   complete  after the body, the events and the children: its accesses are completed, which makes other tasks ready
//
// Nothing here recurses along the graph: ready tasks are put into a list.
#pragma once

#include "dataflow/task_scheduler.hpp"
#include "dataflow/tokens.hpp"

#include <span>

namespace thence::detail {

class flow_state {
public:
    flow_state(int workers, std::uint32_t most_open);
    flow_state &operator=(flow_state &&) = delete;
    // Waits until all tasks are complete.
    ~flow_state();

    int workers() const noexcept { return scheduler_.workers(); }
    dataflow::task_scheduler &scheduler() noexcept { return scheduler_; }

    dataflow::task *prepare(const task_body &body, std::size_t accesses);
    static void drop(dataflow::task &unused) noexcept;
    // Takes the task over, also if it throws std::bad_alloc: then the task is dropped.
    void submit(dataflow::task &added, std::span<const access> accesses, const task_options &options,
                const void *submitted_at);
    // Submits a task that is no child and has no accesses.
    void spawn(dataflow::task &added, const task_options &options, const void *submitted_at) noexcept;

    // The two forms of taskwait.
    void wait_for_children();
    void wait_for(std::span<const access> accesses);
    // Suspends the caller until a task with these accesses and this priority would run. Failures do not matter.
    void let_others_run(std::span<const access> accesses, int priority);

    // Call it after taking the counter `pending` of the task to zero.
    static void counted_to_zero(dataflow::task &done) noexcept;
    // Makes a task ready whose body runs again.
    static void repeat_now(dataflow::task &again) noexcept;
    static void fail(dataflow::task &failed, std::exception_ptr why) noexcept;

    // How often a call of submit() has slept since too many tasks were open: it went on only when another thread
    // resumed it. Of all flows, for tests.
    static std::uint64_t submits_that_slept() noexcept { return submits_that_slept_.load(std::memory_order_relaxed); }

private:
    dataflow::scope &current_scope();
    std::size_t append(dataflow::scope &to, dataflow::task &added, std::span<const access> accesses);
    bool may_start(dataflow::task &ready) noexcept;
    void wait(dataflow::scope &children);
    void throttle(dataflow::scope &children);
    bool few_are_open(std::uint64_t open) const noexcept {
        return dataflow::scope::open_children(open) <= most_open_ / 2;
    }
    void resume_throttled(bool idle) noexcept;

    static dataflow::task *run(dataflow::task &current) noexcept;
    static bool run_onready(dataflow::task &current) noexcept;
    static void run_body(dataflow::task &current) noexcept;
    static void repeat_later(dataflow::task &again) noexcept;
    static void events_are_lowered(dataflow::task &again) noexcept;
    static bool end_body(dataflow::task &current) noexcept;
    static void complete(dataflow::task &done, dataflow::task_list &ready) noexcept;
    static dataflow::task *complete_one(dataflow::task &done, dataflow::task_list &ready) noexcept;
    dataflow::task *count_child_down(dataflow::scope &children) noexcept;
    static void end_scope(dataflow::task &owner) noexcept;
    static void wake(dataflow::scope &children) noexcept;

    // A thread that waits in submit() until few children of the scope are open, or the scheduler is idle.
    // Invariant: it is in `throttled_` before its last test of both conditions and until it is resumed. The thread that
    // makes a condition true afterwards sees the flag of the scope (task.hpp) or `idle_waiters_` (task_scheduler.hpp),
    // and resumes it. While it is in the list, its scope exists.
    struct throttled {
        dataflow::scope &children;
        throttled *next = nullptr;
        dataflow::suspended stack{};
    };

    const std::uint64_t most_open_; // children of one scope; with more, submit() waits
    static inline std::atomic<std::uint64_t> submits_that_slept_{0};
    base::spin_lock throttle_lock_;
    throttled *throttled_ = nullptr; // a list, under throttle_lock_
    dataflow::tokens tokens_;
    dataflow::scope root_;               // children of no task
    dataflow::scope spawned_;            // the tasks of spawn()
    dataflow::task_scheduler scheduler_; // last: its destructor waits for threads that use the members above
};

} // namespace thence::detail

namespace thence::dataflow {

// Blocks a task whose body has returned. @return false if it was unblocked before.
bool block_without_stack(task &after_body) noexcept;

} // namespace thence::dataflow
