// SPDX-License-Identifier: BSD-3-Clause
#include "tasks/polling_call.hpp"

#include "core/base/clock.hpp"
#include "core/base/spin_lock.hpp"
#include "core/continuation/lifetime.hpp"

#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>

namespace thence::task {

namespace {

std::mutex mutex; // guards the list
polling_call *first = nullptr;
polling_call *last = nullptr;
polling_counts counts{0, 0};

// Sequentially consistent: either close() sees the call inside, or the call sees that it is closed.
constinit std::atomic<long> inside{0};
constinit std::atomic<bool> closed{false};

constinit continuation::finalize_functions at_finalize{&close_polling_calls, nullptr};

} // namespace

void close_polling_calls_at_finalize() noexcept {
    continuation::add_finalize_functions(at_finalize);
}

bool try_enter_mpi() noexcept {
    inside.fetch_add(1);
    if (!closed.load()) [[likely]] {
        return true;
    }
    inside.fetch_sub(1);
    return false;
}

void polling_call::enter_mpi() const noexcept {
    if (try_enter_mpi()) [[likely]] {
        return;
    }
    for (;;) {
        if (task.runtime->block(task.handle) != 0) { // it refuses: the task keeps its worker
            std::this_thread::sleep_for(std::chrono::seconds(1));
        }
    }
}

void polling_call::leave_mpi() noexcept {
    inside.fetch_sub(1, std::memory_order_release);
}

void polling_call::list(const thence_task &waits) noexcept {
    close_polling_calls_at_finalize();
    {
        const std::scoped_lock guard(mutex);
        task = waits;
        since = base::coarse_milliseconds();
        previous = last;
        (last == nullptr ? first : last->next) = this;
        last = this;
        ++counts.listed;
    }
    enter_mpi();
}

void polling_call::unlist() noexcept {
    leave_mpi();
    const std::scoped_lock guard(mutex);
    (previous == nullptr ? first : previous->next) = next;
    (next == nullptr ? last : next->previous) = previous;
    --counts.listed;
    ++counts.ended;
}

void close_polling_calls() noexcept {
    closed.store(true);
    for (base::spin_wait wait; inside.load(std::memory_order_acquire) != 0;) {
        wait();
    }
}

void open_polling_calls() noexcept {
    closed.store(false);
}

polling_counts count_polling_calls() noexcept {
    const std::scoped_lock guard(mutex);
    return counts;
}

void for_each_polling_call(void (*visit)(const polling_call &call, void *data), void *data) {
    const std::scoped_lock guard(mutex);
    for (const polling_call *each = first; each != nullptr; each = each->next) {
        visit(*each, data);
    }
}

} // namespace thence::task
