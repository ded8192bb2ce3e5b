/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/** @file host_queue.h
 *  @brief Host queues: functions and MPI operations that run one after the other on threads of oneTBB.
 *
 *  A host queue does on the processor what a CUDA stream does on a device. Its functions run in the order in which they
 *  were enqueued, each after the one before it has returned. MPI operations are enqueued between them with `enqueue.h`.
 *  While such an operation is outstanding the queue occupies no thread.
 *
 *  Link `thence::queues`, which brings oneTBB 2021.6 or later. `host_queue.hpp` is the same for C++, with a scheduler.
 *
 *  Functions return `MPI_SUCCESS` or a code, and call no error handler. */

#include <thence/enqueue.h>

/* Marks what libthence-queues exports. */
#if defined(__GNUC__)
#define THENCE_QUEUES_EXPORT __attribute__((visibility("default")))
#else
#define THENCE_QUEUES_EXPORT
#endif

#ifdef __cplusplus
extern "C" {
#endif

/** @brief A host queue. */
typedef struct thence_host_queue thence_host_queue;

/** @brief Create a host queue.
 *  @param[out] queue the new queue, with nothing enqueued.
 *  @return `MPI_ERR_ARG` (null `queue`); `MPI_ERR_NO_MEM`.
 *  @note Threads: any, also before `MPI_Init`. All host queues of a process share the threads of one arena of oneTBB.
 *  */
THENCE_QUEUES_EXPORT int thence_host_queue_create(thence_host_queue **queue);

/** @brief Wait until a host queue has done all that is enqueued, and destroy it.
 *  @param[in,out] queue set to null.
 *  @return `MPI_ERR_ARG` (null `queue`, or a null queue); `MPI_ERR_OTHER` (a stream uses it: free that first);
 *          `MPI_ERR_PENDING` (called in a function of this queue, which would wait for itself). Nothing has changed
 *          then.
 *  @note Threads: any; no thread enqueues meanwhile. It makes progress as thence_host_queue_synchronize(). */
THENCE_QUEUES_EXPORT int thence_host_queue_destroy(thence_host_queue **queue);

/** @brief Enqueue a call of a function.
 *  @param queue    the queue.
 *  @param function called with `data` on a thread of oneTBB. It should not block. It must not throw.
 *  @param data     passed to it.
 *  @return `MPI_ERR_ARG` (null `queue` or `function`); `MPI_ERR_NO_MEM`.
 *  @note Threads: any; a function of the queue may enqueue on it. */
THENCE_QUEUES_EXPORT int thence_host_queue_enqueue(thence_host_queue *queue, void (*function)(void *data), void *data);

/** @brief Room for one enqueued call, in memory of the caller. */
typedef struct thence_host_queue_entry {
    void *reserved_[6]; /**< the library's */
} thence_host_queue_entry;

/** @brief Enqueue a call without an allocation, so that it cannot fail for that reason.
 *  @param queue    the queue.
 *  @param entry    room for the call; it belongs to the queue until the function is called, which may reuse or release
 *                  it.
 *  @param function as for thence_host_queue_enqueue(), and so is `data`.
 *  @return `MPI_ERR_ARG` (a null pointer but `data`).
 *  @note Threads: any. */
THENCE_QUEUES_EXPORT int thence_host_queue_enqueue_entry(thence_host_queue *queue, thence_host_queue_entry *entry,
                                                         void (*function)(void *data), void *data);

/** @brief Wait until a host queue has done all that was enqueued before this call. Makes progress of MPI meanwhile, if
 *         MPI is initialized.
 *  @param queue the queue.
 *  @return `MPI_ERR_ARG` (null `queue`); `MPI_ERR_PENDING` (called in a function of this queue); `MPI_ERR_NO_MEM`.
 *  @note Threads: any that may call MPI. */
THENCE_QUEUES_EXPORT int thence_host_queue_synchronize(thence_host_queue *queue);

/** @brief Say whether a host queue has done all that is enqueued.
 *  @param queue     the queue.
 *  @param[out] idle 1 if it has, else 0.
 *  @return `MPI_ERR_ARG` (null `queue` or `idle`).
 *  @note Threads: any. Makes no progress. */
THENCE_QUEUES_EXPORT int thence_host_queue_query(thence_host_queue *queue, int *idle);

/** @brief The queue in the form in which an info names it, see thence_stream_create().
 *  @param queue the queue; not null.
 *  @return a value for the info key `value` together with `type` = `thence_queue`. Threads: any. */
THENCE_QUEUES_EXPORT thence_queue thence_host_queue_handle(thence_host_queue *queue);

#ifdef __cplusplus
}
#endif
