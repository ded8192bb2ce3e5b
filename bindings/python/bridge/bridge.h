/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/** @file bridge.h
 *  @brief What the Python package calls: completions of operations as entries of a list that an eventfd announces.
 *
 *  A *channel* is such a list, with its eventfd. Each event loop has one. Python attaches a request to a channel and
 *  gets an *operation*. The callback of the continuation puts the operation into the list. It never takes Python's
 *  global lock, so it may run on any thread, in the middle of a call of MPI. It writes to the eventfd only if the list
 *  was empty: once for a batch. Python reads the list with thence_python_drain(), which calls nothing of MPI.
 *
 *  All parameters are pointers and integers, so that Python needs to know no type of MPI. Calls return `MPI_SUCCESS`
 *  or an error code of MPI, unless their text says otherwise. Only thence_python_drain(), thence_python_abi() and
 *  thence_python_outstanding() may be called with Python's global lock held: the others enter MPI, where another thread
 *  may hold a lock of MPI while it runs a Python function (`MPI.Op.Create`). */

#include <stdint.h>

#include <thence/thence.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct thence_python_channel thence_python_channel;
typedef struct thence_python_operation thence_python_operation;

/** Flags of thence_python_attach(). */
enum {
    THENCE_PYTHON_PERSISTENT = 1, /**< the request is persistent */
    /** Poll for up to 30 microseconds whether the operation completes: the answer of a fast partner comes sooner than a
     *  thread that sleeps wakes. After a time in vain the next ones are left out: 1, then 3, up to 63 of them. */
    THENCE_PYTHON_SOON = 2
};

/** @return the ABI that this library was built for: `openmpi`, `mpich` or `mpiabi`. Threads: any. */
THENCE_EXPORT const char *thence_python_abi(void);

/** @brief Start the thread that makes progress for all channels, if MPI allows that.
 *  @param longest the longest sleep between two polls while completions come, in nanoseconds. After 20 ms without one
 *         it sleeps for longer, so that it uses about 1.5 % of a processor.
 *  @return 1: it runs. 0: MPI was initialized below `MPI_THREAD_MULTIPLE`, so each loop has to call
 *          thence_python_poll(). -1: the system has refused the thread.
 *  @note Threads: one at a time. A second call does nothing. */
THENCE_EXPORT int thence_python_start(int64_t longest);

/** @brief Stop that thread: when this returns, it is out of MPI. To be called before MPI_Finalize.
 *  @note Threads: one at a time. */
THENCE_EXPORT void thence_python_stop(void);

/** @brief Create a channel.
 *  @param[out] descriptor its eventfd, nonblocking. It belongs to the channel.
 *  @return null if the system refuses an eventfd, or there is no memory.
 *  @note Threads: any. */
THENCE_EXPORT thence_python_channel *thence_python_open(int *descriptor);

/** @brief Free a channel.
 *  @param channel a channel without operations: each was drained.
 *  @return 1, or 0 and nothing has changed: operations are outstanding or not drained.
 *  @note Threads: nobody else uses the channel. */
THENCE_EXPORT int thence_python_close(thence_python_channel *channel);

/** @brief Attach `count` requests to a channel, each on its own.
 *  @param channel       the channel.
 *  @param count         number of requests.
 *  @param requests      addresses of requests. Those that are not persistent are `MPI_REQUEST_NULL` on return.
 *  @param statuses      addresses of their statuses, valid until the operation was drained.
 *  @param flags         `THENCE_PYTHON_` flags of each.
 *  @param[out] operations each is null if the request was complete already; else it comes out of
 *                       thence_python_drain() once.
 *  @param[out] errors   for each `MPI_SUCCESS`, the error of an operation that was complete already, or why the request
 *                       could not be attached.
 *  @note Threads: any. */
THENCE_EXPORT void thence_python_attach(thence_python_channel *channel, int count, MPI_Request *const requests[],
                                        MPI_Status *const statuses[], const unsigned char flags[],
                                        thence_python_operation *operations[], int errors[]);

/** @brief Ask MPI to cancel an operation, and make progress once. The operation comes out of thence_python_drain() as
 *         always. The library's threads make no progress meanwhile.
 *  @param operation an operation that was not drained.
 *  @return as thence_cancel(). `MPI_ERR_UNSUPPORTED_OPERATION`: MPI has no continuation request left for this one.
 *  @note Threads: any, but no other thread of the program may match the receive meanwhile, see thence_cancel(). */
THENCE_EXPORT int thence_python_cancel(thence_python_operation *operation);

/** @brief Take completed operations from the list, the oldest first. An operation may be used again afterwards.
 *  @param channel         the channel.
 *  @param[out] operations room for `capacity` operations. Null follows the last, if there is room.
 *  @param[out] errors     `MPI_SUCCESS` or the error of each.
 *  @param capacity        at least 1.
 *  @return how many. Equal to `capacity`: there may be more, and the eventfd stays readable.
 *  @note Threads: one at a time for a channel. */
THENCE_EXPORT int thence_python_drain(thence_python_channel *channel, thence_python_operation *operations[],
                                      int errors[], int capacity);

/** @brief Make progress once.
 *  @return how many continuations have run, or -1 if MPI is not active. Threads: as the thread level allows. */
THENCE_EXPORT int thence_python_poll(void);

/** @return how many operations of all channels are outstanding. Threads: any. */
THENCE_EXPORT int64_t thence_python_outstanding(void);

/** @brief Put a request in place that is complete, with a given status, so that the wait of mpi4py itself can deliver
 *         what it has received.
 *  @param request    set to the request. It must be `MPI_REQUEST_NULL`.
 *  @param status     the status of the receive.
 *  @return an error code of MPI: nothing has changed.
 *  @note Threads: any. */
THENCE_EXPORT int thence_python_deliver(MPI_Request *request, const MPI_Status *status);

#ifdef __cplusplus
}
#endif
