// SPDX-License-Identifier: BSD-3-Clause
#include "tbb/workers/arena_implementation.hpp"
#include "tbb/workers/repeat_without_memory.hpp"
#include "tbb/workers/sanitizer.hpp"

#include <oneapi/tbb/task.h>

#include <atomic>
#include <thread>
#include <utility>

namespace thence::workers {

namespace {

// Slots for threads of the program that wait.
constexpr unsigned visitors = 8;

using sanitizer::context;

// Of all arenas. oneTBB must have as many threads as all arenas together have workers, or tasks that run for long in
// one arena could keep them from another. So could stacks that are suspended, see dataflow/late_workers.hpp.
std::atomic<int> all_workers{0};

// @return how many threads oneTBB must have now, that of the program included.
std::size_t add_workers(int workers) noexcept {
    return static_cast<std::size_t>(all_workers.fetch_add(workers, std::memory_order_relaxed) + workers) + 1;
}

} // namespace

void suspend_stack(suspended &stack, const after_suspend &after) {
    context suspends(stack.resuming == nullptr);
    ::tbb::task::suspend([&](::tbb::task::suspend_point point) {
        suspends.left();
        stack.point = point;
        after.call(stack, after.data);
    });
    suspends.returned();
}

void resume_stack(suspended &stack) {
    ::tbb::task::resume(static_cast<::tbb::task::suspend_point>(stack.point));
}

void yield() {
    context suspends(false);
    ::tbb::task::suspend([&](::tbb::task::suspend_point point) {
        suspends.left();
        ::tbb::task::resume(point);
    });
    suspends.returned();
}

arena::arena(int workers)
    : implementation_(
          std::make_unique<implementation>(add_workers(workers), workers + static_cast<int>(visitors), visitors)),
      workers_(workers) {}
arena::arena(std::unique_ptr<implementation> made) noexcept : implementation_(std::move(made)) {}
arena::~arena() {
    all_workers.fetch_sub(workers_, std::memory_order_relaxed);
}

void arena::call(void (*work)(void *) noexcept, void *data) noexcept {
    context::hand_over(data);
    repeat_without_memory([&] {
        implementation_->arena.enqueue([work, data] {
            context::enter(data);
            work(data);
            context::leave();
        });
    });
}

// The stack of this thread is suspended until a task that is enqueued here has begun. oneTBB begins enqueued tasks in
// any order.
void arena::help() {
    implementation_->arena.execute([&] {
        context suspends(true);
        ::tbb::task::suspend([&](::tbb::task::suspend_point point) {
            suspends.left();
            repeat_without_memory([&] { implementation_->arena.enqueue([point] { ::tbb::task::resume(point); }); });
        });
        suspends.returned();
    });
}

void arena::visit(void (*work)(void *), void *data) {
    context::hand_over(data);
    const auto caller = std::this_thread::get_id();
    implementation_->arena.execute([work, data, caller] {
        const bool by_worker = std::this_thread::get_id() != caller;
        if (by_worker) {
            context::enter(data);
        }
        work(data);
        if (by_worker) {
            context::hand_over(data);
            context::leave();
        }
    });
    context::take_over(data);
}

} // namespace thence::workers
