// SPDX-License-Identifier: BSD-3-Clause
// What the files of libthence-tagaspi share: starting and stopping it, and the end of an event.
//
// An operation that is complete when its call returns binds nothing. Any other leaves requests of MPI, to which a
// continuation is attached that lowers one event of the task; so nobody looks through queues. A notification that has
// not arrived is waited for in the lists of the segment (onesided/notification/waiters.hpp), by an object that lowers
// one event.
#pragma once

#include "onesided/gaspi/process.hpp"

#include <mpi.h>
#include <thence/task_runtime.h>

#include <atomic>

namespace thence::tagaspi {

// The continuation request of all operations that are bound to tasks. It is set before `running`.
extern MPI_Request requests_of_tasks;
// Between tagaspi_proc_init() and tagaspi_proc_term().
extern std::atomic<bool> running;
// Events of tasks that are not lowered.
extern std::atomic<long> outstanding;
// Threads that are about to lower an event, and how often this one is: the runtime may run a task in that.
extern std::atomic<long> lowering;
extern thread_local constinit long lowering_here;

// In a poll, while a rank is gone or has not got all packets: whose operations wait for it in vain are told.
void fail_lost_operations(onesided::space &world) noexcept;
// The process ends.
void forget_queue_groups() noexcept;

// One event of a task, until it is lowered. False, and nothing is bound: the runtime did not raise the events.
inline bool raise(const thence_task &task) noexcept {
    if (task.runtime->raise_events(task.handle, 1) != 0) {
        return false;
    }
    outstanding.fetch_add(1, std::memory_order_relaxed);
    return true;
}
// `error`: of MPI. The task may be complete, and its memory gone, when this returns.
inline void lower(const thence_task &task, int error) noexcept {
    lowering.fetch_add(1, std::memory_order_relaxed);
    ++lowering_here;
    outstanding.fetch_sub(1, std::memory_order_release);
    task.runtime->lower_events(task.handle, 1, error);
    --lowering_here;
    lowering.fetch_sub(1, std::memory_order_release);
}

} // namespace thence::tagaspi

// Returns from a call outside of init and term.
#define THENCE_TAGASPI_RUNNING()                                                                                       \
    if (!running.load(std::memory_order_acquire)) {                                                                    \
        return GASPI_ERR_NOINIT;                                                                                       \
    }
// The process, or returns.
#define THENCE_TAGASPI_SELF()                                                                                          \
    THENCE_TAGASPI_RUNNING()                                                                                           \
    THENCE_GASPI_SELF()
