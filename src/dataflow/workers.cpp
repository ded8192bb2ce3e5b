// SPDX-License-Identifier: BSD-3-Clause
#include "dataflow/workers.hpp"

#include "dataflow/sanitizer.hpp"

#include <thence/detail/start_thread.hpp>

#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/info.h>
#include <oneapi/tbb/task.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_scheduler_observer.h>

#include <optional>

namespace thence::dataflow {

namespace {

// Slots for threads of the program that wait.
constexpr unsigned visitors = 8;

using sanitizer::context;

} // namespace

void suspend_stack(suspended &stack, const after_suspend &after) {
    context suspends(stack.scheduler == nullptr);
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

struct arena::implementation {
    // By default oneTBB has one worker less than the machine has processors.
    std::optional<::tbb::global_control> threads;
    ::tbb::task_arena arena;
    std::optional<detail::workers_without_signals<::tbb::task_scheduler_observer>> signals;

    explicit implementation(int workers) : arena(workers + static_cast<int>(visitors), visitors) {
        if (workers >= ::tbb::info::default_concurrency()) {
            threads.emplace(::tbb::global_control::max_allowed_parallelism, static_cast<std::size_t>(workers) + 1);
        }
        arena.initialize();
        signals.emplace(arena);
    }
};

arena::arena(int workers) : implementation_(std::make_unique<implementation>(workers)) {}
arena::~arena() = default;

bool arena::call(void (*work)(void *) noexcept, void *data) noexcept {
    try {
        context::hand_over(data);
        implementation_->arena.enqueue([work, data] {
            context::enter(data);
            work(data);
            context::leave();
        });
        return true;
    } catch (...) {
        return false;
    }
}

void arena::visit(void (*work)(void *), void *data) {
    implementation_->arena.execute([work, data] { work(data); });
}

} // namespace thence::dataflow
