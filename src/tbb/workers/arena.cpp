// SPDX-License-Identifier: BSD-3-Clause
#include "tbb/workers/arena_implementation.hpp"
#include "tbb/workers/repeat_without_memory.hpp"
#include "tbb/workers/sanitizer.hpp"

#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/info.h>
#include <oneapi/tbb/task.h>

#include <mutex>
#include <new>
#include <thread>
#include <utility>

namespace thence::workers {

namespace {

// Slots for threads of the program that wait.
constexpr unsigned visitors = 8;

using sanitizer::context;

// Adds to the workers of all arenas. oneTBB must have as many threads as these together, or tasks that run for long in
// one arena could keep them from another. So could stacks that are suspended, see dataflow/late_workers.hpp. There is
// one control for all, since oneTBB obeys the smallest one of several.
void add_workers(int count) {
    static constinit std::mutex mutex;
    static constinit int all = 0;
    static constinit ::tbb::global_control *control = nullptr; // the program may end while arenas exist
    const std::scoped_lock guard(mutex);
    const auto threads = static_cast<std::size_t>(all + count) + 1; // with that of the program
    ::tbb::global_control *const made =
        threads > static_cast<std::size_t>(::tbb::info::default_concurrency())
            ? new ::tbb::global_control(::tbb::global_control::max_allowed_parallelism, threads)
            : nullptr;
    delete std::exchange(control, made);
    all += count;
}

// Suspends the calling stack. Just before the thread leaves it, calls `leaving(point)`, which has it resumed.
template <class Leaving> void suspend(bool first_of_thread, Leaving &&leaving) {
    context suspends(first_of_thread);
    ::tbb::task::suspend([&](::tbb::task::suspend_point point) {
        suspends.left();
        leaving(point);
    });
    suspends.returned();
}

} // namespace

void suspend_stack(suspended &stack, const after_suspend &after) {
    suspend(stack.resuming == nullptr, [&](::tbb::task::suspend_point point) {
        stack.point = point;
        after.call(stack, after.data);
    });
}

void resume_stack(suspended &stack) {
    ::tbb::task::resume(static_cast<::tbb::task::suspend_point>(stack.point));
}

void yield() {
    suspend(false, [](::tbb::task::suspend_point point) { ::tbb::task::resume(point); });
}

arena::counted_workers::counted_workers(int count) : count_(count) {
    if (count_ > 0) {
        add_workers(count_);
    }
}
arena::counted_workers::~counted_workers() {
    try {
        if (count_ > 0) {
            add_workers(-count_);
        }
    } catch (const std::bad_alloc &) { // then oneTBB has more threads than it needs
    }
}

arena::arena(int workers)
    : workers_(workers),
      implementation_(std::make_unique<implementation>(workers + static_cast<int>(visitors), visitors)) {}
arena::arena(std::unique_ptr<implementation> made) noexcept : workers_(0), implementation_(std::move(made)) {}
arena::~arena() = default;

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
        suspend(true, [&](::tbb::task::suspend_point point) {
            repeat_without_memory([&] { implementation_->arena.enqueue([point] { ::tbb::task::resume(point); }); });
        });
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
