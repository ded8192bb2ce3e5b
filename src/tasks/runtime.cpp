// SPDX-License-Identifier: BSD-3-Clause
#include "tasks/runtime.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <mutex>
#include <utility>

namespace thence::task {

namespace {

std::mutex mutex_; // guards adding and removing
// The slots in the order in which they are asked, the one added last first. -1: no more. A thread that reads the order
// while it changes may miss a runtime or ask one twice: neither has a task on that thread then.
std::array<std::atomic<int>, most_runtimes + 1> order{-1, -1, -1, -1, -1, -1, -1, -1, -1};

template <std::size_t Slot> int lower_one(int error, MPI_Status *, void *task) {
    in_slot(Slot)->lower_events(task, 1, error);
    return MPI_SUCCESS;
}
template <std::size_t... Slots>
constexpr std::array<thence_callback *, most_runtimes> one_for_each_slot(std::index_sequence<Slots...>) {
    return {&lower_one<Slots>...};
}

} // namespace

constinit std::array<std::atomic<const thence_task_runtime *>, most_runtimes> slots{};
constinit const std::array<thence_callback *, most_runtimes> lowering =
    one_for_each_slot(std::make_index_sequence<most_runtimes>());
thread_local constinit bool thread_is_aware = true;

add_result add(const thence_task_runtime &runtime) noexcept {
    const std::scoped_lock guard(mutex_);
    if (slot_of(&runtime) >= 0) {
        return add_result::added_already;
    }
    const int slot = slot_of(nullptr);
    if (slot < 0) {
        return add_result::full;
    }
    slots[static_cast<std::size_t>(slot)].store(&runtime, std::memory_order_release);
    for (std::size_t i = most_runtimes - 1; i > 0; --i) {
        order[i].store(order[i - 1].load(std::memory_order_relaxed), std::memory_order_release);
    }
    order[0].store(slot, std::memory_order_release);
    return add_result::added;
}

bool remove(const thence_task_runtime &runtime) noexcept {
    const std::scoped_lock guard(mutex_);
    const int slot = slot_of(&runtime);
    if (slot < 0) {
        return false;
    }
    auto *position = std::find_if(order.begin(), order.end(),
                                  [slot](const auto &each) { return each.load(std::memory_order_relaxed) == slot; });
    for (; position != order.end() - 1; ++position) {
        position->store((position + 1)->load(std::memory_order_relaxed), std::memory_order_release);
    }
    slots[static_cast<std::size_t>(slot)].store(nullptr, std::memory_order_release);
    return true;
}

const thence_task_runtime *asked(int index) noexcept {
    if (index >= most_runtimes) {
        return nullptr;
    }
    const int slot = order[static_cast<std::size_t>(index)].load(std::memory_order_acquire);
    return slot < 0 ? nullptr : in_slot(slot);
}

void for_each(void (*visit)(const thence_task_runtime &runtime, void *data), void *data) {
    const std::scoped_lock guard(mutex_);
    for (int i = 0; const thence_task_runtime *runtime = asked(i); ++i) {
        visit(*runtime, data);
    }
}

thence_task current() noexcept {
    for (int i = 0; const thence_task_runtime *runtime = asked(i); ++i) {
        if (void *handle = runtime->current(); handle != nullptr) {
            return {runtime, handle};
        }
    }
    return {nullptr, nullptr};
}

namespace {

thread_local constinit thence_task task_with_events{nullptr, nullptr};

const thence_task *if_it_has_events(const thence_task_runtime *runtime, void *handle) noexcept {
    task_with_events = {runtime, handle};
    return runtime->raise_events != nullptr ? &task_with_events : nullptr;
}

// As with_events(), where the runtime that is asked first has no task on this thread.
__attribute__((noinline)) const thence_task *of_another_runtime() noexcept {
    for (int i = 1; const thence_task_runtime *runtime = asked(i); ++i) {
        if (void *handle = runtime->current(); handle != nullptr) {
            return if_it_has_events(runtime, handle);
        }
    }
    return nullptr;
}

} // namespace

const thence_task *with_events() noexcept {
    const thence_task_runtime *runtime = thread_is_aware ? asked(0) : nullptr;
    if (runtime == nullptr) {
        return nullptr;
    }
    void *handle = runtime->current();
    return handle != nullptr ? if_it_has_events(runtime, handle) : of_another_runtime();
}

} // namespace thence::task
