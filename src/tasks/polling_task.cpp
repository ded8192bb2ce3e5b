// SPDX-License-Identifier: BSD-3-Clause
// The task of a runtime with ALPI that polls where no helper thread does: see core/progress/polling_task.hpp. It
// sleeps in alpi_task_waitfor_ns, so its worker runs other tasks meanwhile.
#include "tasks/polling_task.hpp"

#include "core/continuation/request.hpp"
#include "tasks/runtime.hpp"

#include <atomic>

namespace thence::task {

namespace {

// A table of ALPI is never freed, so a task may still use it when the runtime has been removed.
std::atomic<const thence_task_runtime *> runtime_{nullptr};

void poll(void *data) {
    const auto &runtime = *static_cast<const thence_task_runtime *>(data);
    for (progress::task_turn turn = progress::poll_in_task(); !turn.ends; turn = progress::poll_in_task()) {
        runtime.sleep_for(turn.pause, nullptr);
    }
}

bool start() noexcept {
    const thence_task_runtime *const runtime = runtime_.load(std::memory_order_acquire);
    return runtime != nullptr &&
           runtime->spawn(&poll, const_cast<thence_task_runtime *>(runtime), nullptr, nullptr, "Thence polls") == 0;
}

} // namespace

void poll_in_tasks_of(const thence_task_runtime &runtime) noexcept {
    const char *why = nullptr;
    if (runtime.spawn != nullptr && runtime.sleep_for != nullptr && alpi(why) == &runtime) {
        runtime_.store(&runtime, std::memory_order_release);
        progress::set_polling_task(&start);
    }
}

void poll_no_longer_in_tasks_of(const thence_task_runtime &runtime) noexcept {
    const thence_task_runtime *expected = &runtime;
    if (runtime_.compare_exchange_strong(expected, nullptr, std::memory_order_acq_rel)) {
        progress::set_polling_task(nullptr);
    }
}

void require_polling_task_for(MPI_Request cr) noexcept {
    const auto *object = continuation::continuation_request::from(cr);
    const bool any_thread = object == nullptr || object->has(THENCE_CR_ANY_THREAD);
    progress::require_polling_task(any_thread ? progress::run_by::any_thread : progress::run_by::application);
}

} // namespace thence::task
