// SPDX-License-Identifier: BSD-3-Clause
// One task graph: what happens to a task from its submission to its completion.
//
//   submit    its accesses are appended to their chains; it waits for those that may not run yet
//   run       a thread of the crew calls onready, then the body
//   complete  when body, events and children have ended: its accesses are completed, which makes others ready
//
// Nothing here recurses along the graph: what becomes ready is put into a list.
#pragma once

#include "dataflow/crew.hpp"
#include "dataflow/tokens.hpp"

#include <span>

namespace thence::detail {

class flow_state {
public:
    flow_state(int workers, std::uint32_t most_open);
    flow_state(const flow_state &) = delete;
    flow_state &operator=(const flow_state &) = delete;
    // Waits until all tasks are complete.
    ~flow_state();

    int workers() const noexcept { return crew_.workers(); }
    dataflow::crew &workers_of_it() noexcept { return crew_; }

    dataflow::task *prepare(const task_body &body, std::size_t accesses);
    static void drop(dataflow::task &unused) noexcept;
    // The task belongs to the graph, also if this throws (std::bad_alloc: then it has been dropped).
    void submit(dataflow::task &added, std::span<const access> accesses, const task_options &options,
                const void *submitted_at);
    // Not a child, with accesses of its own.
    void spawn(dataflow::task &added, const task_options &options, const void *submitted_at) noexcept;

    // In taskwait.
    void wait_for_children();
    void wait_for(std::span<const access> accesses);
    // Suspends the caller until a task with these accesses would run. Looks at no failure.
    void let_others_run(std::span<const access> accesses, int priority);

    // This thread has lowered the counter of the task to zero.
    static void counted_to_zero(dataflow::task &done) noexcept;
    // A task whose body is to run again may do so.
    static void repeat_now(dataflow::task &again) noexcept;
    static void fail(dataflow::task &failed, std::exception_ptr why) noexcept;

private:
    dataflow::scope &scope_here();
    std::size_t append(dataflow::scope &to, dataflow::task &added, std::span<const access> accesses);
    bool may_start(dataflow::task &ready) noexcept;
    void wait(dataflow::scope &of);
    void throttle(dataflow::scope &of);
    bool few_are_open(std::uint64_t open) const noexcept { return dataflow::scope::children(open) <= most_open_ / 2; }
    void resume_throttled(bool idle) noexcept;

    static dataflow::task *run(dataflow::task &now) noexcept;
    static bool run_onready(dataflow::task &now) noexcept;
    static void run_body(dataflow::task &now) noexcept;
    static void repeat_later(dataflow::task &again) noexcept;
    static void events_are_lowered(dataflow::task &again) noexcept;
    static bool end_body(dataflow::task &now) noexcept;
    static void complete(dataflow::task &done, dataflow::task_list &ready) noexcept;
    static dataflow::task *complete_one(dataflow::task &done, dataflow::task_list &ready) noexcept;
    dataflow::task *count_child_down(dataflow::scope &of) noexcept;
    static void end_scope(dataflow::task &owner) noexcept;
    static void wake(dataflow::scope &of) noexcept;

    // A thread that waits in submit(), until few children of the scope are open, or no task of the flow runs or is ready.
    // Invariant: it is in `throttled_` from before its last look at both conditions until it is resumed. Whoever makes
    // one of them true afterwards is told so by the scope's flag (task.hpp) or by `idle_waiters_` (crew.hpp), and resumes it.
    // While it is in the list, its scope exists.
    struct throttled {
        dataflow::scope &of;
        throttled *next = nullptr;
        dataflow::suspended stack{};
    };

    const std::uint64_t most_open_; // children of one scope, before submit() waits
    base::spin_lock throttle_lock_;
    throttled *throttled_ = nullptr; // under that lock
    dataflow::tokens tokens_;
    dataflow::scope root_;    // children of no task
    dataflow::scope spawned_; // counts them
    dataflow::crew crew_;     // last: its destructor waits for threads that still use the others
};

} // namespace thence::detail

namespace thence::dataflow {

// Blocks a task whose body has returned. @return false if it was unblocked before.
bool block_without_stack(task &after_body) noexcept;

} // namespace thence::dataflow
