// SPDX-License-Identifier: BSD-3-Clause
#include "tasks/blocked_task.hpp"

#include "core/base/spin_lock.hpp"
#include "core/continuation/run.hpp"
#include "core/progress/backoff.hpp"
#include "core/progress/catch_up.hpp"
#include "tasks/polling_call.hpp"

#include <chrono>
#include <cstdint>
#include <thread>
#include <utility>

namespace thence::task {

namespace {

// How many calls of a runtime's unblock() are under way, for tasks whose handles have the same hash.
struct alignas(64) counter {
    std::atomic<unsigned> number{0};
};
constexpr unsigned bits_of_index = 6;
constinit counter under_way[1U << bits_of_index];

std::atomic<unsigned> &under_way_for(void *handle) noexcept {
    const auto hash = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(handle)) * 0x9E3779B97F4A7C15U;
    return under_way[hash >> (64 - bits_of_index)].number;
}

} // namespace

// The task may go on, and `self` be gone, as soon as the runtime's unblock() has begun, or, if the task polls, as soon
// as `state_` is `done`.
int blocked_task::unblock(int error, MPI_Status *, void *data) noexcept {
    auto *self = static_cast<blocked_task *>(data);
    const thence_task task = self->task_;
    self->error_ = error;
    std::atomic<unsigned> &calls = under_way_for(task.handle);
    calls.fetch_add(1, std::memory_order_relaxed); // who sees `done` sees this
    if (self->state_.exchange(state::done, std::memory_order_acq_rel) != state::polls) {
        task.runtime->unblock(task.handle);
    }
    calls.fetch_sub(1, std::memory_order_release);
    return MPI_SUCCESS;
}

const char *blocked_task::runtime_of(const continuation::continuation &c, continuation::control_word kind) noexcept {
    return kind.form() == continuation::signature::own &&
                   c.callback == reinterpret_cast<continuation::any_function>(&unblock)
               ? static_cast<const blocked_task *>(c.data)->task_.runtime->name
               : nullptr;
}

// The task calls block() also if it is done already: it must not end before the runtime's unblock(), which may be under
// way on another thread, has done with its handle. An unblock() by others may let the task go on too early.
int blocked_task::block() noexcept {
    do {
        if (task_.runtime->block(task_.handle) != 0) {
            poll();
        }
    } while (state_.load(std::memory_order_acquire) != state::done);
    return error_;
}

// The runtime has refused to block the task, but another thread is about to call its unblock(), or has called it. That
// call must have ended before the task ends. Then the runtime is asked again, so that unblock() meets a block(), which
// need not block the task any more.
void blocked_task::wait_for_unblock() noexcept {
    const std::atomic<unsigned> &calls = under_way_for(task_.handle);
    for (base::spin_wait wait; calls.load(std::memory_order_acquire) != 0;) {
        wait();
    }
    task_.runtime->block(task_.handle);
}

// The runtime refuses to block the task, so the worker makes progress instead, until MPI_Finalize begins.
void blocked_task::poll() noexcept {
    close_polling_calls_at_finalize();
    state expected = state::waits;
    if (!state_.compare_exchange_strong(expected, state::polls, std::memory_order_acq_rel)) {
        wait_for_unblock();
        return;
    }
    thence_backoff backoff = THENCE_BACKOFF_INIT;
    bool has_slept = false;
    while (state_.load(std::memory_order_acquire) != state::done) {
        if (try_enter_mpi()) {
            if (std::exchange(has_slept, false)) {
                progress::catch_up_after_sleep();
            }
            const bool ran = continuation::make_progress() != 0;
            polling_call::leave_mpi();
            if (ran) {
                progress::found(backoff);
            } else {
                has_slept = progress::pause(backoff);
            }
        } else {
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
    }
}

} // namespace thence::task
