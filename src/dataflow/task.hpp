// SPDX-License-Identifier: BSD-3-Clause
// A task, and the scope of its children. The memory block of a task holds the task, its accesses and its body.
//
// The counter `pending` has three parts: body_runs until the body has ended, has_children while children are not
// complete, and one for each event. The thread that takes it to zero completes the task. While `onready` runs, the
// counter has body_runs too: the thread that takes it to zero makes the task ready, and sets body_runs again before the
// body begins.
#pragma once

#include "core/base/spin_lock.hpp"
#include "dataflow/access_chain.hpp"
#include "dataflow/key_table.hpp"
#include "tbb/workers/arena.hpp"
#include "tbb/workers/task_list.hpp"

#include <thence/dataflow/detail/exports.hpp>

#include <atomic>
#include <cstdint>
#include <exception>

namespace thence::detail {
class flow_state;
}

namespace thence::dataflow {

using flow = thence::detail::flow_state;
using workers::suspended;

// The first bytes of each block that is large enough for a task. They tell a visitor of blocks which are tasks.
struct block_head {
    union {
        task *next = nullptr; // in one list at a time; overwritten while the block is free
        std::uint64_t pause;  // of a task that runs: nanoseconds before its body runs again
    };
    // A visitor may read this word while the block is used for another task. To construct a std::atomic in it would be
    // a race with that read. So it is a plain word that is accessed through atomic_ref alone.
    mutable std::uint32_t task_mark;
    block_head() noexcept { is_task().store(0, std::memory_order_relaxed); }
    std::atomic_ref<std::uint32_t> is_task() const noexcept { return std::atomic_ref(task_mark); }
};

// What a task does or waits for. Reports and checks of arguments read it. Only counted_to_zero() depends on it: the
// last event of a task in runs_onready or waits_to_run_again does not complete the task.
enum class phase : std::uint8_t {
    free,
    waits_for_accesses,
    ready,
    runs_onready, // or waits for events that it raised
    runs,
    blocked,
    sleeps,
    waits_to_run_again, // after its events its body runs again
    waits_for_children, // in taskwait
    throttled,          // in submit(), since too many of its children are open
    ended,              // its events or children are not complete
    complete
};

enum task_flag : std::uint8_t {
    spawned = 1,     // not a child
    runs_always = 2, // also when its siblings have failed
    onready_done = 4,
    exclusive = 16,    // has commutative accesses
    wakes_waiter = 32, // made by taskwait: its body resumes a suspended task
    runs_again = 64,   // the body runs again after it has returned
};

// The children of a task, or those of no task, and the order of their accesses.
struct scope : block_head {
    explicit scope(flow &in, task *parent) : runs_in(in), owner(parent) {}

    // Two flags and a counter in one word. The counter is the number of open children, which are not complete, plus one
    // until the owner's body ends.
    //   waited_for  a thread waits in taskwait: the thread that completes the last child wakes it
    //   throttled   a thread waits in submit(): the thread that completes a child, so that few are open, wakes it
    // A waiter reads the counter and sets its flag in one step. So either the waiter sees the change that it waits for,
    // or the thread that makes the change sees the flag. While the owner waits, its body does not end.
    static constexpr std::uint64_t waited_for = 1, throttled = 2, child = 4;
    std::atomic<std::uint64_t> open{child};
    // The open children, while the owner's body has not ended.
    static constexpr std::uint64_t open_children(std::uint64_t open) noexcept { return open / child - 1; }

    flow &runs_in;
    task *owner; // null: the scope belongs to the flow, and lives as long
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

    // The number of accesses that may not run, plus one until the task is submitted.
    std::atomic<std::uint32_t> waits_for{0};
    std::atomic<std::uint64_t> pending{0};
    // The number of accesses that are not dead, plus one until the task is complete. The block is freed at zero.
    std::atomic<std::uint32_t> users{0};
    std::atomic<phase> current_phase{phase::free};
    std::uint8_t flags = 0;
    std::uint8_t size_class = 0;
    std::uint8_t depth = 0;                                                       // of nesting, up to `deepest`
    thence::detail::repetition again = thence::detail::repetition::after_unblock; // if runs_again
    std::atomic<int> error{0}; // the first one that an event was lowered with
    int priority = 0;
    std::uint32_t count = 0; // of accesses
    flow *runs_in = nullptr;
    scope *siblings = nullptr;              // which the task is counted in; null until it is submitted or spawned
    std::atomic<scope *> children{nullptr}; // made with the first one
    const thence::detail::task_body *body = nullptr;
    void *object = nullptr;
    std::atomic<const char *> label{nullptr};
    std::atomic<const void *> submitted_at{nullptr};
    // Null, the stack that block() suspended, or a special value (events.cpp).
    std::atomic<suspended *> blocked_at{nullptr};
    // Spawned tasks only.
    void (*completed)(void *) = nullptr;
    void *completed_argument = nullptr;

    linked_access *accesses() noexcept { return reinterpret_cast<linked_access *>(this + 1); }
    bool has(task_flag flag) const noexcept { return (flags & flag) != 0; }
    void enter(phase begun) noexcept { current_phase.store(begun, std::memory_order_relaxed); }
    bool failed() const noexcept { return siblings != nullptr && siblings->failed.load(std::memory_order_relaxed); }
};

inline task *task_of(thence::detail::dataflow_task *handle) noexcept {
    return reinterpret_cast<task *>(handle);
}
inline thence::detail::dataflow_task *handle_of(task *value) noexcept {
    return reinterpret_cast<thence::detail::dataflow_task *>(value);
}

using task_list = workers::task_list<task>;

} // namespace thence::dataflow
