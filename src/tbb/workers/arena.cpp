// SPDX-License-Identifier: BSD-3-Clause
#include "tbb/workers/arena_implementation.hpp"
#include "tbb/workers/repeat_without_memory.hpp"
#include "tbb/workers/sanitizer.hpp"
#include "tbb/workers/worker_stacks.hpp"

#include <oneapi/tbb/task.h>

#include <atomic>
#include <semaphore>
#include <thread>
#include <utility>

namespace thence::workers {

namespace {

// Slots for threads of the program that wait.
constexpr unsigned visitors = 8;

using sanitizer::context;

// Of all arenas. oneTBB must have as many threads as all arenas together have workers: tasks that run for long in one
// arena keep no worker from another.
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
      stacks_(new worker_stacks(implementation_->arena, workers + static_cast<int>(visitors))), workers_(workers) {}
arena::arena(std::unique_ptr<implementation> made) noexcept : implementation_(std::move(made)) {}
arena::~arena() {
    if (stacks_ != nullptr) {
        stacks_->close();
    }
    all_workers.fetch_sub(workers_, std::memory_order_relaxed);
}

void arena::call(void (*work)(void *) noexcept, void *data) noexcept {
    context::hand_over(data);
    repeat_without_memory([&] {
        if (stacks_ != nullptr) {
            return stacks_->call({work, data});
        }
        implementation_->arena.enqueue([work, data] {
            context::enter(data);
            work(data);
            context::leave();
        });
    });
}

void arena::visit(void (*work)(void *) noexcept, void *data) {
    const auto caller = std::this_thread::get_id();
    bool visited = true;
    implementation_->arena.execute([&] {
        visited = std::this_thread::get_id() == caller;
        if (visited) {
            work(data);
        }
    });
    if (!visited) { // a worker was asked, on its first stack, which must not be suspended
        call_and_wait(work, data);
    }
}

void arena::call_and_wait(void (*work)(void *) noexcept, void *data) noexcept {
    struct asked {
        void (*work)(void *) noexcept;
        void *data;
        std::binary_semaphore done{0};
    } job{work, data};
    call(
        [](void *asked_for) noexcept {
            asked &by = *static_cast<asked *>(asked_for);
            by.work(by.data);
            context::hand_over(asked_for);
            by.done.release();
        },
        &job);
    job.done.acquire();
    context::take_over(&job);
}

} // namespace thence::workers
