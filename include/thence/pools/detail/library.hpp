// SPDX-License-Identifier: BSD-3-Clause
#ifndef THENCE_POOLS_DETAIL_LIBRARY_HPP
#define THENCE_POOLS_DETAIL_LIBRARY_HPP
#if __cplusplus < 202002L
#error "thence/pools/detail/library.hpp needs C++20: compile with -std=c++20"
#else

// What libthence-pools holds: the threads and queues of pools, and the watchdog that polls where nobody else does. The
// namespace has the library's name, so that a linker which misses a symbol names what to link. No header defines a
// function in it.

#include <oneapi/tbb/task_arena.h>

#include <thence/pools/completion_mode.hpp>
#include <thence/senders/detail/library.hpp>

namespace thence::detail {

/** Belongs to one list at a time. Gone, perhaps, once it has run. */
struct pool_task {
    pool_task *next = nullptr;
    void (*run)(pool_task *) noexcept = nullptr;
};

enum class urgency : bool { normal, high };

/** Which of the two queues of pools. */
enum class pool_queue : unsigned char { workers, mpi };

/** Who polls for operations of this mode. */
constexpr pool_queue polling_queue(const thence::completion_mode &how) noexcept {
    return how.mpi_pool ? pool_queue::mpi : pool_queue::workers;
}

/** Slots of the workers' arena that are kept for threads that come by themselves: those that wait, and the one that
 *  polls. */
inline constexpr unsigned visitor_slots = 8;

/** What headers see of pools. */
struct pools_state {
    thence::completion_mode mode;       // of operations that name none
    timer_time slow_limit = 0;          // see slow_task.hpp
    ::tbb::task_arena *arena = nullptr; // of the workers
    pools_state(const pools_state &) = delete;
    pools_state &operator=(const pools_state &) = delete;

protected:
    explicit pools_state(const thence::completion_mode &usual) : mode(usual) {}
    ~pools_state() = default;
};

} // namespace thence::detail

#pragma GCC visibility push(default)
namespace thence::libthence_pools {

/** Makes threads and queues, with this many workers.
 *  @throws std::invalid_argument for a bad option; thence::error. */
detail::pools_state *make(int workers, ::tbb::task_arena::priority priority, const completion_mode &usual);
/** Ends the program where operations are outstanding or tasks wait. */
void destroy(detail::pools_state *pools) noexcept;

/** Whether operations can be handled so. Below MPI_THREAD_MULTIPLE one thread alone calls MPI: that of the MPI pool, or
 *  the one that waits; which one is up to the pools' own mode. */
bool accepts(const detail::pools_state &pools, const completion_mode &how) noexcept;
/** Why not. */
const char *refusal(const detail::pools_state &pools, const completion_mode &how) noexcept;

/** The queue runs the task once, on one of its threads. */
void push(detail::pools_state &pools, detail::pool_queue where, detail::pool_task &task, detail::urgency how) noexcept;
/** For a task that will suspend itself: only workers take it. */
void push_suspending(detail::pools_state &pools, detail::pool_task &task) noexcept;
/** Polled where nothing else is to do: it pushes itself again until it has found what it waits for. Its operation is
 *  outstanding meanwhile. */
void push_again(detail::pools_state &pools, detail::pool_queue where, detail::pool_task &task) noexcept;
/** Runs the task as one of the workers at once, without their queue, unless this thread is in a callback: then as soon
 *  as it has left it. `in_arena` does for the polling thread of the MPI pool what this does here. */
void bypass(detail::pools_state &pools, detail::pool_task &task,
            void (*in_arena)(detail::pool_task *) noexcept) noexcept;

/** Before the operation is started: the queue's threads poll while one is outstanding. */
void begin_operation(detail::pools_state &pools, detail::pool_queue where) noexcept;
/** Before the operation is completed: then it may be gone, and the pools too. */
void end_operation(detail::pools_state &pools, detail::pool_queue where) noexcept;
/** The poll-only continuation request of the queue. An operation is registered there next. */
MPI_Request poll_only_request(detail::pools_state &pools, detail::pool_queue where) noexcept;
/** What was registered there is complete. */
void poll_only_completed(detail::pools_state &pools, detail::pool_queue where) noexcept;

/** Whether this thread is in a task of the queue, and what follows may run as a part of that task; then the caller runs
 *  it and calls end_part(). */
bool begin_part(detail::pools_state &pools, detail::pool_queue where) noexcept;
void end_part() noexcept;
/** Whether this thread is in a task of the queue. */
bool is_here(const detail::pools_state &pools, detail::pool_queue where) noexcept;

/** By a task of the workers that suspends itself next: somebody else looks for tasks meanwhile. */
void suspending(detail::pools_state &pools) noexcept;
/** That task is about to be resumed, and has been. */
void resuming(detail::pools_state &pools) noexcept;
void resumed(detail::pools_state &pools) noexcept;

/** This thread works for the pools until `holds(condition)`, and sees to it that somebody makes progress for what it
 *  waits for, whatever that is. `round_first`: at least one round, unless it is in a task. In the workers' arena. */
void work_until(detail::pools_state &pools, void *condition, bool (*holds)(void *), bool round_first) noexcept;

} // namespace thence::libthence_pools
#pragma GCC visibility pop

#endif // C++20
#endif
