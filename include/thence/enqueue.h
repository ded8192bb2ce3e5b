/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/** @file enqueue.h
 *  @brief MPI operations that begin and end in the order of a queue: of a CUDA stream, a host queue, or any other.
 *
 *  A stream (`stream.h`) with a queue has communicators whose operations can be enqueued. Such a call returns at once.
 *  The operation begins when the queue has done all that was enqueued before it, and what is enqueued behind it begins
 *  when the operation is complete.
 *
 *      thence_host_queue_create(&q);                          // thence/host_queue.h, libthence-queues
 *      thence_queue queue = thence_host_queue_handle(q);
 *      MPI_Info_create(&info);
 *      MPI_Info_set(info, "type", "thence_queue");
 *      thence_info_set_hex(info, "value", &queue, sizeof queue);
 *      thence_stream_create(info, &stream);
 *      thence_stream_comm_create(MPI_COMM_WORLD, stream, &comm);
 *      thence_recv_enqueue(x, n, MPI_FLOAT, 0, 0, comm, MPI_STATUS_IGNORE);
 *      thence_host_queue_enqueue(q, saxpy, &arguments);       // begins when x is there
 *      thence_send_enqueue(y, n, MPI_FLOAT, 0, 0, comm);      // begins after saxpy
 *
 *  **How it works.** No function blocks in MPI. When the queue reaches the operation, it tells Thence, by a store to
 *  memory or by a short function. Thence then starts the nonblocking operation, and its completion, a continuation,
 *  lets the queue go on.
 *
 *  **Progress.** Thence's helper thread starts and completes the operations if MPI was initialized with
 *  `MPI_THREAD_MULTIPLE` (on MPICH: and the program is linked with libthence). Else threads of the program do that
 *  while they are in thence_progress(), in a completion call of MPI that libthence interposes, or on Open MPI in any
 *  call that makes progress.
 *
 *  **Arguments** are as for MPI's own call. Buffers, statuses and arrays of counts belong to the operation until the
 *  queue has gone on behind it. `comm` must have a stream with a queue. The operation uses the
 *  buffers that the call names. If they are in device memory and MPI does not take such buffers, they are copied to
 *  host memory and back, in the order of the queue: of an operation with a request, behind the enqueued wait for it. So
 *  pass such a request to thence_wait_enqueue(): after MPI_Wait nothing is copied back.
 *
 *  **Errors.** A wrong communicator, or a queue that refuses, is reported at once. An operation that fails later stores
 *  its error in the status (`MPI_ERROR`) and the queue goes on. The first such error is kept: the next call that
 *  enqueues an operation on this queue returns it and enqueues nothing, or thence_stream_get_error() returns it. Calls
 *  that enqueue waits do not return it. No error of an operation calls
 *  an error handler that ends the program: a communicator of a stream with a queue has `MPI_ERRORS_RETURN`.
 *
 *  **Calls of MPI** on the communicator, in a program that is linked with libthence: MPI_Send, MPI_Recv, MPI_Isend,
 *  MPI_Irecv and the blocking collectives are enqueued, and other calls that communicate return
 *  `MPI_ERR_UNSUPPORTED_OPERATION`. A function that starts an enqueued operation may use the communicator for any call.
 *
 *  **Order.** Operations of one queue start in the order of the queue. Calls of several threads on one queue are
 *  ordered as they come.
 *
 *  MPI_Comm_free waits until all operations that are enqueued on the communicator have begun, MPI_Comm_disconnect until
 *  they are complete. Both make progress meanwhile. In a callback, which must not wait, they fail (`MPI_ERR_PENDING`)
 *  and change nothing.
 *  No function of the queue may call them. If the program is linked with libthence-core alone, they do not wait and
 *  fail before that; MPICH has then given the communicator up, and it cannot be freed later.
 *
 *  Each function returns, besides what it says: `MPI_ERR_COMM` (`comm` is null); `MPI_ERR_OTHER` (`comm` has no stream
 *  with a queue, or the queue refused); `MPI_ERR_NO_MEM`; the kept error. Each may be called by any thread, but not
 *  before `MPI_Init` or after `MPI_Finalize`: enqueue nothing then, and let the queue finish before.
 *
 *  Source: Zhou et al., "Designing and Prototyping Extensions to MPI in MPICH", the section on enqueueing; MPICH 5. */

#include <stdint.h>
#include <thence/stream.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The functions of a ::thence_queue_table given to `launch` may call MPI. */
#define THENCE_QUEUE_CALLS_MPI (1U << 0)

/** @brief What a kind of queue can do. Fill one in to enqueue MPI operations on a queue that Thence does not know.
 *
 *  Each function gets the handle of the queue first, and returns 0, or something else if it refuses: then nothing was
 *  enqueued. None may block, and none is called inside another of the same queue. What is enqueued runs in order, one
 *  after the other. Members that may be null say so. */
typedef struct thence_queue_table {
    /** `sizeof(thence_queue_table)`. */
    size_t size;
    /** Of the kind, for reports. */
    const char *name;
    /** `THENCE_QUEUE_` options, or 0. */
    unsigned flags;
    /** Enqueues a call of `function(data)`, which does not block. */
    int (*launch)(void *queue, void (*function)(void *data), void *data);
    /** Enqueues the store of `value` to `*word`. What was done before is visible to a thread that reads the value.
     *  Null: `launch` is used in its place. */
    int (*record)(void *queue, uint32_t *word, uint32_t value);
    /** Enqueues a wait: nothing behind it begins before `(int32_t)(*word - value) >= 0`. */
    int (*wait)(void *queue, uint32_t *word, uint32_t value);
    /** Thence has changed a word that the queue may wait for. Called on any thread. Null: the queue sees it by
     *  itself. */
    void (*wake)(void *queue);
    /** Memory that the host and the queue can use, for words and for copies of buffers, aligned to 64 bytes; null if
     *  there is none. Null, and so `release`: ordinary memory. */
    void *(*allocate)(void *queue, size_t bytes);
    /** Releases what `allocate` gave. */
    void (*release)(void *queue, void *memory);
    /** Sets `*is` to 1 if MPI does not take a buffer at this address, since it is in the memory of a device. Null: all
     *  buffers are in ordinary memory. */
    int (*needs_copy)(void *queue, const void *buffer, int *is);
    /** Enqueues a copy. Needed if `needs_copy` is not null. */
    int (*copy)(void *queue, void *to, const void *from, size_t bytes);
    /** A stream begins (`on` 1) or ceases (0) to use the queue. Null: nothing to do. */
    int (*use)(void *queue, int on);
    /** As `launch` and then `wait`, in one step. Null: these two are called. Not used with `record`. */
    int (*launch_and_wait)(void *queue, void (*function)(void *data), void *data, uint32_t *word, uint32_t value);
} thence_queue_table;

/** @brief A queue: what `value` of the info of thence_stream_create() has for the type `thence_queue`. */
typedef struct thence_queue {
    const thence_queue_table *table; /**< what it can do; valid while streams use it */
    void *handle;                    /**< which it is, for the functions of the table */
} thence_queue;

/** @brief Take the kept error of the queue of a stream: that of the first operation that failed since the last call.
 *  @param stream     a stream with a queue.
 *  @param[out] error `MPI_SUCCESS` if none has failed.
 *  @return `MPI_ERR_ARG` (it is no stream, or null `error`); `MPI_ERR_OTHER` (it has no queue).
 *  @note Threads: any. */
THENCE_EXPORT int thence_stream_get_error(thence_stream stream, int *error);

/** @brief Starts one nonblocking operation, for thence_start_enqueue().
 *  @param comm         the communicator given there.
 *  @param data         the copy of the data given there.
 *  @param[out] request the operation.
 *  @return `MPI_SUCCESS`, or the error: the operation has failed then.
 *
 *  It may run on any thread. It must not block. */
typedef int(thence_start_function)(MPI_Comm comm, void *data, MPI_Request *request);

/** @brief Enqueue any operation: the queue waits until it is complete. All other functions do this.
 *  @param start  starts the operation when the queue is there.
 *  @param data   what is copied and passed to it.
 *  @param size   number of bytes, or 0: then it gets a null pointer.
 *  @param comm   a communicator of a stream with a queue.
 *  @param[out] status of the operation, or `MPI_STATUS_IGNORE`.
 *  @return `MPI_ERR_ARG` (null `start`; null `data` with a `size`); see the top of this file. */
THENCE_EXPORT int thence_start_enqueue(thence_start_function *start, const void *data, size_t size, MPI_Comm comm,
                                       MPI_Status *status);

/** @brief The same, but the queue does not wait.
 *  @param start  as above, and so are `data`, `size` and `comm`.
 *  @param[out] request a request to enqueue a wait for. A completion call of MPI takes it, too, on a thread of the
 *                      program.
 *  @return as above, and `MPI_ERR_ARG` for null `request`. */
THENCE_EXPORT int thence_istart_enqueue(thence_start_function *start, const void *data, size_t size, MPI_Comm comm,
                                        MPI_Request *request);

/** @brief Enqueue a send, as MPI_Send. In a program that is linked with libthence, MPI_Send itself does the same on a
 *         communicator of a stream with a queue, and MPI_Recv does what thence_recv_enqueue() does. */
THENCE_EXPORT int thence_send_enqueue(const void *buf, int count, MPI_Datatype datatype, int dest, int tag,
                                      MPI_Comm comm);
/** @brief Enqueue a receive, as MPI_Recv. */
THENCE_EXPORT int thence_recv_enqueue(void *buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
                                      MPI_Status *status);
/** @brief Enqueue a send for which the queue does not wait.
 *  @param[out] request for thence_wait_enqueue(), as of thence_istart_enqueue(). */
THENCE_EXPORT int thence_isend_enqueue(const void *buf, int count, MPI_Datatype datatype, int dest, int tag,
                                       MPI_Comm comm, MPI_Request *request);
/** @brief Enqueue a receive for which the queue does not wait.
 *  @param[out] request for thence_wait_enqueue(), as of thence_istart_enqueue(). */
THENCE_EXPORT int thence_irecv_enqueue(void *buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
                                       MPI_Request *request);
/** @brief As thence_send_enqueue(), with a large count. Where MPI has no large counts, it must fit an `int`
 *         (`MPI_ERR_COUNT`). */
THENCE_EXPORT int thence_send_enqueue_c(const void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
                                        MPI_Comm comm);
/** @brief As thence_recv_enqueue(), with a large count, as above. */
THENCE_EXPORT int thence_recv_enqueue_c(void *buf, MPI_Count count, MPI_Datatype datatype, int source, int tag,
                                        MPI_Comm comm, MPI_Status *status);
/** @brief As thence_isend_enqueue(), with a large count, as above. */
THENCE_EXPORT int thence_isend_enqueue_c(const void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
                                         MPI_Comm comm, MPI_Request *request);
/** @brief As thence_irecv_enqueue(), with a large count, as above. */
THENCE_EXPORT int thence_irecv_enqueue_c(void *buf, MPI_Count count, MPI_Datatype datatype, int source, int tag,
                                         MPI_Comm comm, MPI_Request *request);

/** @brief Enqueue a wait for an operation: the queue goes on when it is complete.
 *  @param[in,out] request that of a call whose name begins with `thence_i`. Set to `MPI_REQUEST_NULL`.
 *  @param[out] status its status, set before the queue goes on, or `MPI_STATUS_IGNORE`.
 *  @return `MPI_ERR_ARG` (null `request`); `MPI_ERR_REQUEST` (it is no such request, or was waited for already, or the
 *          stream was freed); see the top of this file. A null request is no error and enqueues nothing. */
THENCE_EXPORT int thence_wait_enqueue(MPI_Request *request, MPI_Status *status);
/** @brief Enqueue a wait for several operations of one queue.
 *  @param count    number of requests, at least 0.
 *  @param[in,out] array_of_requests as for thence_wait_enqueue(); null requests are ignored.
 *  @param[out] array_of_statuses    an array of `count` statuses, or `MPI_STATUSES_IGNORE`.
 *  @return as thence_wait_enqueue(), and `MPI_ERR_ARG` (negative `count`, null array); `MPI_ERR_REQUEST` (they are not
 *          all of one queue, or one is there twice). */
THENCE_EXPORT int thence_waitall_enqueue(int count, MPI_Request array_of_requests[], MPI_Status *array_of_statuses);

#ifdef __cplusplus
}
#endif

#include <thence/enqueue_collectives.h>
