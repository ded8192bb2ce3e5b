// SPDX-License-Identifier: BSD-3-Clause
// One task, and the scope of its children. A task's block of memory has the task, its accesses, and its body.
//
// The counter `pending` decides when a task is complete: body_runs from the beginning until its body has ended,
// has_children while it has a scope with children that are not complete, and one for each event. Whoever takes it to
// zero completes the task. While `onready` runs it holds body_runs too; whoever takes it to zero then makes the task
// ready, and it holds body_runs again before the body begins.
#pragma once

#include "core/base/spin_lock.hpp"
#include "dataflow/access_chain.hpp"
#include "dataflow/key_table.hpp"

#include <thence/dataflow/detail/library.hpp>

#include <atomic>
#include <cstdint>
#include <exception>

namespace thence::detail {
class flow_state;
}

namespace thence::dataflow {

using flow = thence::detail::flow_state;
struct suspended;

// The beginning of every block of the size of a task, so that a visitor of blocks sees what is a task.
struct block_head {
    union {
        task *next = nullptr; // in one list at a time; overwritten while the block is free
        std::uint64_t pause;  // of a task that runs: nanoseconds before its body runs again
    };
    std::atomic<std::uint32_t> is_task{0};
};

// What a task is about to do, or waits for. For reports and for checks of arguments; nothing depends on it but where an
// event that is the last one leads to (runs_onready).
enum class phase : std::uint8_t {
    free,
    waits_for_accesses,
    ready,
    runs_onready, // or waits for events that it raised
    runs,
    blocked,
    sleeps,
    waits_to_run_again, // waits for its events, then its body runs again
    waits_for_children, // in taskwait
    throttled,          // in submit(), since too many of its children are open
    ended,              // its events or children are not complete
    complete
};

enum task_flag : std::uint8_t {
    spawned = 1,     // not a child
    runs_always = 2, // also when its siblings have failed
    onready_done = 4,
    skipped = 8,
    exclusive = 16,    // has commutative accesses
    wakes_waiter = 32, // of taskwait: its body resumes a suspended task, and takes no time
    runs_again = 64,   // the body that runs now will not be the end
};

// The children of a task, or those of no task, and the order of their accesses.
struct scope : block_head {
    explicit scope(flow &in, task *of) : runs_in(in), owner(of) {}

    // Two flags and a counter in one word. The counter has the children that are not complete (open), plus one until the
    // owner's body ends.
    //   waited_for  somebody waits in taskwait: who completes the last child wakes it
    //   throttled   somebody waits in submit(): who completes a child, so that few enough are left, wakes it
    // A waiter sets its flag in one step with its last look at the counter. So it finds what it waits for, or whoever
    // changes the counter later finds the flag. A task that waits is the owner, whose body cannot end meanwhile.
    static constexpr std::uint64_t waited_for = 1, throttled = 2, child = 4;
    std::atomic<std::uint64_t> open{child};
    static constexpr std::uint64_t children(std::uint64_t open) noexcept { return open / child - 1; } // of a live owner

    flow &runs_in;
    task *owner; // null: of no task; it stays as long as the flow
    base::spin_lock lock;
    // Under the lock.
    key_table chains;
    suspended *waiting = nullptr;
    std::exception_ptr failure;
    std::uint32_t throttled_threads = 0; // under the lock of the flow's throttled threads

    std::atomic<bool> failed{false}; // bodies that have not begun are skipped
};

struct task : block_head {
    static constexpr std::uint64_t body_runs = std::uint64_t{1} << 62;
    static constexpr std::uint64_t has_children = std::uint64_t{1} << 61;
    static constexpr std::uint64_t all_events = has_children - 1;
    static constexpr std::uint8_t deepest = 63;

    // Accesses that may not run yet, and one until it has been submitted.
    std::atomic<std::uint32_t> waits_for{0};
    std::atomic<std::uint64_t> pending{0};
    // Accesses that are not dead, and one until completion is over. Then the block is free.
    std::atomic<std::uint32_t> users{0};
    std::atomic<phase> now{phase::free};
    std::uint8_t flags = 0;
    std::uint8_t size_class = 0;
    std::uint8_t depth = 0;                                                       // of nesting, up to `deepest`
    thence::detail::repetition again = thence::detail::repetition::after_unblock; // if runs_again
    std::atomic<int> error{0}; // the first one that an event was lowered with
    int priority = 0;
    std::uint32_t count = 0; // of accesses
    flow *runs_in = nullptr;
    scope *siblings = nullptr;              // null if spawned
    std::atomic<scope *> children{nullptr}; // made with the first one
    const thence::detail::task_body *body = nullptr;
    void *object = nullptr;
    std::atomic<const char *> label{nullptr};
    std::atomic<const void *> submitted_at{nullptr};
    // Of blocking: null, `ahead` if it was unblocked before, or where it is suspended.
    std::atomic<suspended *> blocked_at{nullptr};
    // Of spawned tasks.
    void (*completed)(void *) = nullptr;
    void *completed_argument = nullptr;

    chain_access *accesses() noexcept { return reinterpret_cast<chain_access *>(this + 1); }
    bool has(task_flag flag) const noexcept { return (flags & flag) != 0; }
    void enter(phase begins) noexcept { now.store(begins, std::memory_order_relaxed); }
    bool failed() const noexcept { return siblings != nullptr && siblings->failed.load(std::memory_order_relaxed); }
};

inline task *of(thence::detail::dataflow_task *handle) noexcept {
    return reinterpret_cast<task *>(handle);
}
inline thence::detail::dataflow_task *handle_of(task *of) noexcept {
    return reinterpret_cast<thence::detail::dataflow_task *>(of);
}

// A list of tasks, first in, first out.
class task_list {
public:
    bool empty() const noexcept { return first_ == nullptr; }
    bool has_several() const noexcept { return first_ != nullptr && first_->next != nullptr; }
    void push(task &added) noexcept {
        added.next = nullptr;
        (first_ == nullptr ? first_ : last_->next) = &added;
        last_ = &added;
    }
    void push_first(task &added) noexcept {
        if (first_ == nullptr)
            last_ = &added;
        added.next = first_;
        first_ = &added;
    }
    task *pop() noexcept {
        task *const taken = first_;
        if (taken != nullptr)
            first_ = taken->next;
        return taken;
    }

private:
    task *first_ = nullptr;
    task *last_ = nullptr; // if there is a first one
};

} // namespace thence::dataflow
