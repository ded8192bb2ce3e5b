/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/** @file events.h
 *  @brief A counter of outstanding events with an owner, and MPI operations that lower it. C11 and C++.
 *
 *  Use it where something may end only after its own work and several MPI operations have ended: a task, a request of
 *  your own, a phase of a program. The owner initializes the counter, which then holds one event: that of the owner's
 *  own work. Each operation that is attached raises it by one and lowers it by one when it is complete. The owner
 *  lowers it once when its own work is done. Whoever lowers it to zero calls the owner's function.
 *
 *  Errors: functions return MPI error codes, as thence.h says. The counter keeps the first error of an operation, and
 *  passes it to the owner's function.
 *
 *  Source: Sala et al. 2021, "Combining one-sided communications with task-based programming models", section 2 (events
 *  of a task); Schuchart et al. 2020, "Fibers are not (P)Threads", section 5. */

#include <stdint.h>

#include <thence/thence.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct thence_events thence_events;

/** @brief Called once, when the last event was lowered, on the thread that lowered it.
 *  @param events the counter. The function may free it or initialize it again.
 *  @param error  `MPI_SUCCESS`, or the first error that was given to thence_events_lower() or that an attached
 *                operation had.
 *  @param owner  the pointer given to thence_events_init().
 *
 *  What was written before any event was lowered is visible to it, statuses and received data too. It may run inside a
 *  callback of a continuation: then it must not wait for other continuations (see `thence_callback`). */
typedef void thence_events_function(thence_events *events, int error, void *owner);

/** @brief A counter of events. The fields belong to the library. Put it where it does not move until its function has
 *         been called. */
struct thence_events {
    uint64_t count_;
    thence_events_function *completed_;
    void *owner_;
    int error_;
};

/** @brief Initialize a counter with one outstanding event, that of the owner.
 *  @param events    the counter, in memory of the caller.
 *  @param completed called when all events are lowered.
 *  @param owner     passed to `completed`.
 *  @return `MPI_ERR_ARG` (null `events` or `completed`).
 *  @note Threads: nobody else may use the counter meanwhile. May be called before MPI_Init. */
THENCE_EXPORT int thence_events_init(thence_events *events, thence_events_function *completed, void *owner);

/** @brief Raise the counter by `n` events.
 *  @param events a counter with at least one event that nobody lowers during this call: that of the owner, or another
 *                that the caller will lower.
 *  @param n      how many; 0 does nothing.
 *  @return `MPI_ERR_ARG` (null `events`; no event is outstanding; the counter would overflow): nothing has changed.
 *  @note Threads: any number at once. */
THENCE_EXPORT int thence_events_raise(thence_events *events, uint64_t n);

/** @brief Lower the counter by `n` events. At zero it calls the owner's function, before it returns.
 *  @param events the counter; it may no longer exist when this returns.
 *  @param n      how many; 0 does nothing.
 *  @param error  `MPI_SUCCESS`, or an error code for the owner. The first is kept.
 *  @return `MPI_ERR_ARG` (null `events`; fewer than `n` are outstanding): nothing has changed.
 *  @note Threads: any number at once, also threads that know nothing of MPI. */
THENCE_EXPORT int thence_events_lower(thence_events *events, uint64_t n, int error);

/** @brief Attach an event to `count` operations: raise the counter by one now, lower it by one once all of them are
 *         complete. As thence_attach() with a callback that lowers the counter.
 *  @param count    number of requests, at least 0.
 *  @param requests array of `count` active requests, as for thence_attach().
 *  @param flags    0 or `THENCE_PERSISTENT`.
 *  @param statuses array of `count` statuses, which are set before the event is lowered, or `MPI_STATUSES_IGNORE`. It
 *                  stays valid until then.
 *  @param events   the counter, as for thence_events_raise().
 *  @param cr       the continuation request to register with.
 *  @return as thence_attach(). `MPI_ERR_ARG`, `MPI_ERR_REQUEST` or `MPI_ERR_NO_MEM`: nothing has changed. If all
 *          operations were complete already, the counter is as before, and the error of a failed one is returned and
 *          kept for the owner.
 *  @note Threads: any number at once. Cost: that of thence_attach(), no allocation. */
THENCE_EXPORT int thence_attach_event(int count, MPI_Request requests[], unsigned flags, MPI_Status *statuses,
                                      thence_events *events, MPI_Request cr);

#ifdef __cplusplus
}
#endif
