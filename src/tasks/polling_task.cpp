// SPDX-License-Identifier: BSD-3-Clause
// The task of a runtime with ALPI that polls where no helper thread does: see core/progress/polling_task.hpp. It
// sleeps in alpi_task_waitfor_ns, so its worker runs other tasks meanwhile.
#include "tasks/polling_task.hpp"

#include "core/base/clock.hpp"
#include "core/continuation/request.hpp"
#include "core/diagnose/process_identity.hpp"
#include "tasks/runtime.hpp"

#include <atomic>
#include <chrono>
#include <thread>

namespace thence::task {

namespace {

// A table of ALPI is never freed, so a task may still use it when the runtime has been removed.
std::atomic<const thence_task_runtime *> runtime_{nullptr};
std::atomic<int> not_ended_{0}; // tasks that poll or are to be started, and that the runtime has not ended

void poll(void *data) {
    const auto &runtime = *static_cast<const thence_task_runtime *>(data);
    for (progress::task_turn turn = progress::poll_in_task(); !turn.ends; turn = progress::poll_in_task()) {
        runtime.sleep_for(turn.pause, nullptr);
    }
}

void ended(void *) {
    not_ended_.fetch_sub(1, std::memory_order_release);
}

bool start() noexcept {
    const thence_task_runtime *const runtime = runtime_.load(std::memory_order_acquire);
    if (runtime == nullptr) {
        return false;
    }
    not_ended_.fetch_add(1, std::memory_order_relaxed);
    const bool started =
        runtime->spawn(&poll, const_cast<thence_task_runtime *>(runtime), &ended, nullptr, "Thence polls") == 0;
    if (!started) {
        not_ended_.fetch_sub(1, std::memory_order_relaxed);
    }
    return started;
}

// The calling thread may be the only worker, so it sleeps in the runtime if it is one. The time is limited, since a
// program may have shut its runtime down already.
void await_end() noexcept {
    constexpr std::uint64_t pause = 100'000; // nanoseconds
    static std::atomic<bool> gave_up{false};
    if (gave_up.load(std::memory_order_relaxed)) {
        return;
    }
    const char *why = nullptr;
    const thence_task_runtime *const runtime = alpi(why);
    const base::nanoseconds limit = base::read_clock() + 5'000'000'000;
    while (not_ended_.load(std::memory_order_acquire) != 0) {
        if (base::read_clock() >= limit) {
            gave_up.store(true, std::memory_order_relaxed);
            diagnose::print_to_stderr("MPI_Finalize: the task that polls has not ended for 5 s. Shut the task runtime "
                                      "down after MPI_Finalize\n");
            return;
        }
        if (runtime->sleep_for(pause, nullptr) != 0) { // it is no worker
            std::this_thread::sleep_for(std::chrono::nanoseconds(pause));
        }
    }
}

} // namespace

void poll_in_tasks_of(const thence_task_runtime &runtime) noexcept {
    const char *why = nullptr;
    if (runtime.spawn != nullptr && runtime.sleep_for != nullptr && alpi(why) == &runtime) {
        runtime_.store(&runtime, std::memory_order_release);
        progress::set_polling_task(&start, &await_end);
    }
}

void poll_no_longer_in_tasks_of(const thence_task_runtime &runtime) noexcept {
    const thence_task_runtime *expected = &runtime;
    if (runtime_.compare_exchange_strong(expected, nullptr, std::memory_order_acq_rel)) {
        progress::forget_polling_task();
    }
}

void require_polling_task_for(MPI_Request cr) noexcept {
    const auto *object = continuation::continuation_request::of_handle(cr);
    const bool any_thread = object == nullptr || object->has(THENCE_CR_ANY_THREAD);
    progress::require_polling_task(any_thread ? progress::run_by::any_thread : progress::run_by::application);
}

} // namespace thence::task
