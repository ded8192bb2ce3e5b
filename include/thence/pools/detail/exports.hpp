// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// The functions of libthence-pools, which has the threads and queues of pools and the watchdog. Their namespace has the
// name of the library: if the linker does not find a symbol, its message says what to link. No header defines a
// function in that namespace.

#include <oneapi/tbb/task_arena.h>

#include <thence/pools/completion_mode.hpp>
#include <thence/senders/detail/exports.hpp>

namespace thence::detail {

/** A task of a queue. It is in at most one list. run() may destroy it. */
struct pool_task {
    pool_task *next = nullptr;
    void (*run)(pool_task *) noexcept = nullptr;
};

enum class urgency : bool { normal, high };

/** Which of the two queues of pools. */
enum class pool_queue : unsigned char { workers, mpi };

/** The queue whose threads poll for operations in this mode. */
constexpr pool_queue polling_queue(const thence::completion_mode &how) noexcept {
    return how.mpi_pool ? pool_queue::mpi : pool_queue::workers;
}

/** The slots of the workers' arena that are reserved for threads that are not workers: those that wait in the pools,
 *  and the polling thread of the MPI pool. */
inline constexpr unsigned visitor_slots = 8;

/** The part of pools that headers access. */
struct pools_state {
    thence::completion_mode mode;       // the default mode of operations
    timer_time slow_limit = 0;          // see slow_task.hpp
    ::tbb::task_arena *arena = nullptr; // the arena of the workers
    pools_state &operator=(pools_state &&) = delete;

protected:
    explicit pools_state(const thence::completion_mode &usual) : mode(usual) {}
    ~pools_state() = default;
};

} // namespace thence::detail

#pragma GCC visibility push(default)
namespace thence::libthence_pools {

/** Creates pools. The caller passes them to destroy().
 *  @throws std::invalid_argument for a bad option; thence::error; thence::mpi_inactive. */
detail::pools_state *make(int workers, ::tbb::task_arena::priority priority, const completion_mode &usual);
/** Ends the program with a message if operations are outstanding or tasks have not run. */
void destroy(detail::pools_state *pools) noexcept;

/** @return whether these pools can handle operations in the mode `how`. Below MPI_THREAD_MULTIPLE only one thread calls
 *          MPI: the mode of the pools decides whether that is the thread of the MPI pool or the thread that waits. */
bool accepts(const detail::pools_state &pools, const completion_mode &how) noexcept;
/** @return the reason why accepts() is false, as text. */
const char *refusal(const detail::pools_state &pools, const completion_mode &how) noexcept;

/** A thread of the queue runs the task once. Thread-safe, as all functions here. */
void push(detail::pools_state &pools, detail::pool_queue where, detail::pool_task &task, detail::urgency how) noexcept;
/** As push() into the queue of the workers, for a task that suspends itself: only workers take it. */
void push_suspending(detail::pools_state &pools, detail::pool_task &task) noexcept;
/** The queue runs the task once, after its next poll. A task that polls for an operation pushes itself again until that
 *  is complete. The operation counts as outstanding meanwhile. Those of urgent operations run first. */
void push_polling_task(detail::pools_state &pools, detail::pool_queue where, detail::pool_task &task,
                       detail::urgency how) noexcept;
/** Runs the task at once on this thread as a task of the workers, without their queue. If this thread is in a callback,
 *  the task runs after it: as the next task of this thread if that polls for these pools, else on a worker. `in_arena`
 *  runs the task in the arena of the workers; the thread of the MPI pool calls it. */
void bypass(detail::pools_state &pools, detail::pool_task &task,
            void (*in_arena)(detail::pool_task *) noexcept) noexcept;

/** Call it after MPI has started the operation, and before the continuation is attached or the request is tested. The
 *  threads of the queue poll while any is outstanding, and sooner if one is urgent. */
void begin_operation(detail::pools_state &pools, detail::pool_queue where, detail::urgency how) noexcept;
/** Call it before the receiver of the operation is completed: operation and pools may be destroyed after that. */
void end_operation(detail::pools_state &pools, detail::pool_queue where, detail::urgency how) noexcept;
/** @return the poll-only continuation request of the queue. The caller registers one operation with it. */
MPI_Request poll_only_request(detail::pools_state &pools, detail::pool_queue where) noexcept;
/** An operation that was registered with it is complete. */
void poll_only_completed(detail::pools_state &pools, detail::pool_queue where) noexcept;

/** @return whether this thread is in a task of the queue and may run more work in it. The caller then runs that work
 *          and calls end_nested(). */
bool begin_nested(detail::pools_state &pools, detail::pool_queue where) noexcept;
void end_nested() noexcept;
/** @return whether this thread is in a task of the queue or polls for it. */
bool is_runner(const detail::pools_state &pools, detail::pool_queue where) noexcept;

/** A task of the workers calls it directly before it suspends itself. Another worker runs tasks meanwhile. */
void suspending(detail::pools_state &pools) noexcept;
/** Call resuming() before such a task is resumed; the task calls resumed() afterwards. */
void resuming(detail::pools_state &pools, detail::urgency how) noexcept;
void resumed(detail::pools_state &pools, detail::urgency how) noexcept;

/** This thread runs tasks and polls until `holds(condition)` is true. Some thread polls meanwhile, also for operations
 *  that are not those of the pools. `at_least_one_round`: it runs at least one round before it tests the condition,
 *  unless it is in a task. Call it in the arena of the workers. */
void work_until(detail::pools_state &pools, void *condition, bool (*holds)(void *), bool at_least_one_round) noexcept;

} // namespace thence::libthence_pools
#pragma GCC visibility pop
