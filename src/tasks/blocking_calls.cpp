// SPDX-License-Identifier: BSD-3-Clause
#include "tasks/blocking_calls.hpp"

#include "core/progress/interposed.hpp"
#include "tasks/polling_call.hpp"

namespace thence::task {

std::atomic<bool> calls_block_tasks{false};

namespace {

std::atomic<MPI_Request> registered_with{MPI_REQUEST_NULL};

} // namespace

void let_calls_block_tasks(MPI_Request cr) noexcept {
    registered_with.store(cr, std::memory_order_relaxed);
    open_polling_calls();
    if (!calls_block_tasks.exchange(true)) {
        progress::add_way_to_wait();
    }
}

void let_calls_block_threads() noexcept {
    if (calls_block_tasks.exchange(false)) {
        progress::remove_way_to_wait();
    }
}

MPI_Request cr_of_blocking_calls() noexcept {
    return registered_with.load(std::memory_order_relaxed);
}

} // namespace thence::task
