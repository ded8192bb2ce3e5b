// SPDX-License-Identifier: BSD-3-Clause
// Stacks on which the workers of an arena run work that may suspend its stack.
//
// A worker of oneTBB enters an arena on the stack that its thread has begun on, its first one, and can leave only from
// there. If that stack is suspended, the thread stays. oneTBB still counts it as one that can come to other arenas, and
// sends none in its place: work of another arena, which perhaps is to resume that stack, may wait for ever. So no work
// of such an arena runs on the first stack of a worker. The worker suspends that only to get a second stack, and has it
// resumed before it begins the work. If the work suspends the second stack, the thread returns to its first one.
//
// Invariant, under the lock: a stack in the list is suspended or about to be, and has no work. It is taken out once,
// and then resumed once. A stack that ends its work goes into the list unless that is full or closed.
#pragma once

#include <thence/detail/atomic.hpp>

#include <oneapi/tbb/task.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_scheduler_observer.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>

namespace thence::workers {

// The first stacks of the workers that are in an arena. A worker may also run on that of another one, while that has
// been resumed and its own thread is busy.
class first_stacks : public ::tbb::task_scheduler_observer {
public:
    first_stacks(::tbb::task_arena &arena, int slots);
    ~first_stacks() override { observe(false); }
    first_stacks &operator=(first_stacks &&) = delete;

    // Whether the caller, called by oneTBB, runs on one of them.
    bool is_one() const noexcept;

private:
    void on_scheduler_entry(bool is_worker) override;
    void on_scheduler_exit(bool is_worker) override;

    const int slots_;
    // By the slot of the arena: an address on the stack, or 0. The functions that oneTBB calls are near it.
    std::unique_ptr<std::atomic<std::uintptr_t>[]> addresses_;
};

struct job {
    void (*work)(void *) noexcept = nullptr;
    void *data = nullptr;
};

// Stacks that wait for work use it, perhaps for a moment after the arena is destroyed.
class worker_stacks {
public:
    // `slots`: of the arena. As many stacks are kept for more work.
    worker_stacks(::tbb::task_arena &arena, int slots);
    worker_stacks &operator=(worker_stacks &&) = delete;

    // Has a worker do the job. Throws std::bad_alloc.
    void call(const job &next);
    // Ends the stacks. No job may be left. The last stack deletes the object.
    void close() noexcept;

private:
    // One that uses the object.
    class user {
    public:
        explicit user(worker_stacks &used) noexcept : used_(used) { used.users_.fetch_add(1, detail::order::relaxed); }
        user(const user &other) noexcept : user(other.used_) {}
        ~user() { used_.release(); }
        user &operator=(user &&) = delete;
        worker_stacks *operator->() const noexcept { return &used_; }

    private:
        worker_stacks &used_;
    };
    ~worker_stacks() = default;
    void release() noexcept;

    struct waiting_stack {
        ::tbb::task::suspend_point point{};
        waiting_stack *next = nullptr;
        job todo;
    };
    void begin(const job &next);
    void leave_first_stack(const job &next);
    void run(job next);
    bool wait_for_work(waiting_stack &self);
    waiting_stack *take() noexcept;

    ::tbb::task_arena &arena_;                 // while there is a job
    std::optional<first_stacks> first_stacks_; // until close()
    const int most_;
    detail::spin_lock lock_;
    waiting_stack *list_ = nullptr;
    int count_ = 0; // in the list, or on the way there
    bool closed_ = false;
    detail::atomic<int> users_{1}; // the owner, until it calls close()
};

} // namespace thence::workers
