// SPDX-License-Identifier: BSD-3-Clause
#include "task/blocked_task.hpp"

#include "continuation/run.hpp"

#include <thread>

namespace thence::task {

// The task may go on, and `self` be gone, as soon as `done_` is set or the runtime's unblock() has begun.
int blocked_task::unblock(int error, MPI_Status *, void *data) noexcept {
    auto *self = static_cast<blocked_task *>(data);
    const thence_task task = self->task_;
    self->error_ = error;
    self->done_.store(true, std::memory_order_release);
    task.runtime->unblock(task.handle);
    return MPI_SUCCESS;
}

// An unblock() of before may let the task go on too early. If the runtime refuses to block it, the worker makes progress
// instead.
int blocked_task::block() noexcept {
    while (!done_.load(std::memory_order_acquire)) {
        if (task_.runtime->block(task_.handle) != 0) {
            continuation::make_progress();
            std::this_thread::yield();
        }
    }
    return error_;
}

} // namespace thence::task
