/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/** @file notify.h
 *  @brief One-sided communication with notifications: put data into the memory of another process, and let it know.
 *
 *  A *space* is a group of processes that reach memory of each other. A *segment* is memory of all of them: each
 *  process gives its part, and each part has *notifications* beside it, numbered from 0. A notification is a 32-bit
 *  value: zero until some process sets it by thence_notify() or thence_put_notify(), then the value that was given.
 *  Another one that arrives before the owner has reset it overwrites it.
 *
 *  A *queue* is a number below that given to thence_space_create(). Operations that one process starts on one queue,
 *  for one target, take effect at the target in the order of their start, also puts that overlap. A notification is
 *  seen after the data of its own call, and after all puts before it on its queue. Between different queues and
 *  different targets nothing is promised. Two threads that use one queue order their calls themselves.
 *
 *  Ranks are those of the communicator of the space. Offsets and lengths are in bytes. Any memory of the process may be
 *  the source of a put or the destination of a get, but does not overlap the other side of the same operation, where a
 *  process names itself.
 *
 *  *Local completion* of a put: the source may be written again. Of a get, and of an operation that gives the old
 *  value: it is here. Each call that starts an operation has a last argument `request`. If it is not null, it gets a
 *  request of MPI that is complete then: `MPI_REQUEST_NULL` if that is so when the call returns. Any call of MPI takes
 *  the request, and continuations, senders and tasks too. If it is null, the operation belongs to its queue:
 *  thence_queue_flush() waits for all those. That a put has arrived is what its notification tells.
 *  A put that its target refuses later, or that MPI does not deliver, is an error of the queue that it names.
 *
 *  The request of a list, and of an operation of more than 1 GiB, is completed by polls of Thence, as that of
 *  thence_notification_request(). With libthence-core alone on MPICH and Intel MPI no call of MPI polls, so `MPI_Wait`
 *  on it returns only if another thread calls Thence meanwhile: link libthence there, or wait by a continuation or a
 *  sender.
 *
 *  If a process of this node has ended, an operation on it is `MPI_ERR_OTHER`, and operations of queues and of lists
 *  that are under way fail. Thence asks the system for that at most every 50 ms: while it polls, and, where no messages
 *  are used, at every 64th operation of a space, for all spaces. The request of a single operation of at most 1 GiB is
 *  MPI's, and may never complete then; more data go in several messages, and their request is that of a list. A wait
 *  for a notification goes on, since any process may set it.
 *
 *  Processes of one node write to each other's memory directly. Others send messages on a communicator of the space;
 *  the receiver makes progress in calls of Thence and, on Open MPI, of MPI. At `MPI_THREAD_MULTIPLE` the helper thread
 *  of Thence receives them while the program computes. thence_segment_query() says which way is used, and why. The
 *  messages that a process has not taken are bounded: a call that starts an operation waits while 4,096 are on their
 *  way to its target, and makes progress, without running continuations.
 *
 *  An argument that is out of range is an error before anything is moved. Functions return codes as thence.h says.
 *
 *  Sources: Sala et al. 2021, "Combining one-sided communications with task-based programming models", sections 2 to 4;
 *  the GASPI specification, whose notifications these are. */

#include <stdint.h>

#include <thence/thence.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Processes that reach memory of each other. */
typedef struct thence_space_object *thence_space;
/** Memory of all processes of a space. */
typedef struct thence_segment_object *thence_segment;

/** The largest number of queues of a space. */
#define THENCE_MOST_QUEUES 1024
/** The largest number of notifications of a segment. */
#define THENCE_MOST_NOTIFICATIONS (1U << 20)

/** @brief Make a space. Collective over `comm`, and blocks.
 *  @param comm       an intracommunicator of processes. The space uses a duplicate.
 *  @param queues     the number of queues, 1 to ::THENCE_MOST_QUEUES, the same in all processes.
 *  @param[out] space the space.
 *  @return `MPI_ERR_COMM` (null, or an intercommunicator); `MPI_ERR_ARG` (`queues` is out of range or differs between
 *          processes, null `space`); `MPI_ERR_NO_MEM`; `MPI_ERR_OTHER` before `MPI_Init` and after `MPI_Finalize`. All
 *          processes return an error, or none.
 *  @note Threads: any. */
THENCE_EXPORT int thence_space_create(MPI_Comm comm, int queues, thence_space *space);

/** @brief Free a space. Collective, and blocks until all operations on it have taken effect.
 *  @param[in,out] space null on return.
 *  @return `MPI_ERR_ARG` (null `space`, or a null space); `MPI_ERR_PENDING` (in some process a segment is not freed, or
 *          an operation of a queue or the request of a list is not complete): nothing has changed, in all processes;
 *          `MPI_ERR_OTHER` (a process of the space, on this node, has ended): the space stays.
 *  @note Threads: any; no other thread uses the space meanwhile. */
THENCE_EXPORT int thence_space_free(thence_space *space);

/** @brief Make a segment of new memory. Collective over the space, and blocks.
 *  @param space         the space.
 *  @param bytes         the length of the part of this process; may differ between processes, and be 0. The memory is
 *                       zero, and begins at a page.
 *  @param notifications how many notifications this part has, 0 to ::THENCE_MOST_NOTIFICATIONS. All are reset.
 *  @param[out] segment  the segment.
 *  @return `MPI_ERR_ARG` (null `space` or `segment`, too many notifications); `MPI_ERR_NO_MEM`; `MPI_ERR_OTHER` (a
 *          process of the space, on this node, has ended). All processes return an error, or none.
 *  @note Threads: any; one collective call on a space at a time. */
THENCE_EXPORT int thence_segment_create(thence_space space, size_t bytes, unsigned notifications,
                                        thence_segment *segment);

/** @brief Make a segment of memory of the program. As thence_segment_create(), but Thence neither makes the memory nor
 *         frees it.
 *  @param space         the space.
 *  @param memory        what this process gives: any memory that may be written. It stays until the segment is freed.
 *                       May be null if `bytes` is 0.
 *  @param bytes         its length.
 *  @param notifications how many notifications this part has.
 *  @param[out] segment  the segment.
 *  @return as thence_segment_create(), and `MPI_ERR_ARG` (null `memory` of some bytes).
 *  @note Processes of one node write to such memory by calls of the system (`process_vm_writev`), if that permits it,
 *        else by messages. thence_fetch_add() and thence_compare_swap() use messages.
 *  @note Threads: as thence_segment_create(). */
THENCE_EXPORT int thence_segment_create_on(thence_space space, void *memory, size_t bytes, unsigned notifications,
                                           thence_segment *segment);

/** @brief Free a segment. Collective over its space, and blocks until all operations on it have taken effect.
 *  @param[in,out] segment null on return.
 *  @return `MPI_ERR_ARG` (null `segment`, or a null segment); `MPI_ERR_PENDING` (in some process an operation of a
 *          queue or the request of a list is not complete, or a notification is waited for by
 *          thence_notification_request() or thence_notification_continue()): nothing has changed, in all processes;
 *          `MPI_ERR_OTHER` (a process of the space, on this node, has ended): the segment stays.
 *  @note Threads: any; no other thread uses the segment meanwhile. */
THENCE_EXPORT int thence_segment_free(thence_segment *segment);

/** @brief The part of one process of a segment. Filled in by thence_segment_query(). */
typedef struct thence_segment_info {
    size_t size;            /**< bytes that the call has set, see thence_info */
    void *memory;           /**< where it is, in this process; null for other processes */
    size_t bytes;           /**< its length */
    unsigned notifications; /**< how many it has */
    const char *transport;  /**< how this process reaches it: `memory`, `process_vm_writev` or `messages` */
    const char *why;        /**< one sentence: why so */
} thence_segment_info;

/** @brief Say where the part of a process is, how long it is, and how it is reached.
 *  @param segment   the segment.
 *  @param rank      a rank of the space.
 *  @param[out] info filled in. The texts stay valid until `MPI_Finalize`.
 *  @param size      `sizeof(thence_segment_info)`; no byte beyond is written.
 *  @return `MPI_ERR_ARG` (null `segment` or `info`, or `size` is smaller than in the first version); `MPI_ERR_RANK`.
 *  @note Threads: any. */
THENCE_EXPORT int thence_segment_query(thence_segment segment, int rank, thence_segment_info *info, size_t size);

/** @brief Put bytes into the part of another process, or of this one.
 *  @param from         the source; may be null if `bytes` is 0.
 *  @param bytes        how many; 0 moves nothing.
 *  @param rank         the target, a rank of the space.
 *  @param segment      the segment.
 *  @param offset       where in the part of the target.
 *  @param queue        a queue of the space.
 *  @param[out] request local completion, or null.
 *  @return `MPI_ERR_ARG` (null `segment` or `from`; the queue is none of the space; offset and length go beyond the end
 *          of the part); `MPI_ERR_RANK`; `MPI_ERR_NO_MEM`; `MPI_ERR_OTHER` (a message could not be sent).
 *          Some messages of more than 1 GiB may have been sent before the last two: they belong to the queue then, and
 *          `request` is unchanged.
 *  @note Threads: any number at once. Cost on one node: the copy. */
THENCE_EXPORT int thence_put(const void *from, size_t bytes, int rank, thence_segment segment, size_t offset, int queue,
                             MPI_Request *request);

/** @brief Get bytes from the part of another process, or of this one.
 *  @param to           the destination; may be null if `bytes` is 0.
 *  @param bytes        how many.
 *  @param rank         the target.
 *  @param segment      the segment.
 *  @param offset       where in the part of the target.
 *  @param queue        a queue of the space.
 *  @param[out] request local completion, or null.
 *  @return as thence_put().
 *  @note Threads: any number at once. */
THENCE_EXPORT int thence_get(void *to, size_t bytes, int rank, thence_segment segment, size_t offset, int queue,
                             MPI_Request *request);

/** @brief Set a notification at a process.
 *  @param rank         the target.
 *  @param segment      the segment.
 *  @param notification its number.
 *  @param value        what it is set to; not 0.
 *  @param queue        a queue of the space: the notification is seen after all puts before on this queue.
 *  @return `MPI_ERR_ARG` (null `segment`; the target has no such notification; `value` is 0; no such queue);
 *          `MPI_ERR_RANK`; `MPI_ERR_NO_MEM`; `MPI_ERR_OTHER`.
 *  @note Threads: any number at once. It is complete when the call returns. */
THENCE_EXPORT int thence_notify(int rank, thence_segment segment, unsigned notification, uint32_t value, int queue);

/** @brief Put bytes, and set a notification that is seen after them. thence_put() and thence_notify() in one.
 *  @param from         the source, as for thence_put().
 *  @param bytes        how many; with 0 it is thence_notify().
 *  @param rank         the target.
 *  @param segment      the segment, of the bytes and of the notification.
 *  @param offset       where in the part of the target.
 *  @param notification its number.
 *  @param value        what it is set to; not 0.
 *  @param queue        a queue of the space.
 *  @param[out] request local completion, or null.
 *  @return as thence_put() and thence_notify().
 *  @note Threads: any number at once. */
THENCE_EXPORT int thence_put_notify(const void *from, size_t bytes, int rank, thence_segment segment, size_t offset,
                                    unsigned notification, uint32_t value, int queue, MPI_Request *request);

/** @brief One piece of a list. */
typedef struct thence_piece {
    void *local;            /**< the source of a put, which is only read, or the destination of a get */
    size_t bytes;           /**< how many */
    thence_segment segment; /**< a segment of the space */
    size_t offset;          /**< where in the part of the target */
} thence_piece;

/** @brief Put several pieces to one target. As thence_put() for each, but one piece that is wrong is an error before
 *         any is moved.
 *  @param count        the number of pieces, each of any length.
 *  @param pieces       what to put; their segments belong to one space.
 *  @param rank         the target.
 *  @param queue        a queue of the space.
 *  @param[out] request local completion of all pieces, or null: then they belong to the queue. `MPI_REQUEST_NULL` if
 *                      all are complete when the call returns. It cannot be cancelled.
 *  @return as thence_put(); `MPI_ERR_ARG` also for a negative count, null `pieces`, and segments of different spaces.
 *          After `MPI_ERR_OTHER` and `MPI_ERR_NO_MEM` the pieces that were started belong to the queue, and `request`
 *          is unchanged.
 *  @note Threads: any number at once. */
THENCE_EXPORT int thence_put_list(int count, const thence_piece pieces[], int rank, int queue, MPI_Request *request);

/** @brief Put several pieces to one target, and set a notification that is seen after all of them. It is not set if a
 *         piece has failed.
 *  @param count        the number of pieces.
 *  @param pieces       what to put.
 *  @param rank         the target.
 *  @param segment      the segment that has the notification.
 *  @param notification its number.
 *  @param value        what it is set to; not 0.
 *  @param queue        a queue of the space.
 *  @param[out] request as for thence_put_list().
 *  @return as thence_put_list() and thence_notify().
 *  @note Threads: any number at once. */
THENCE_EXPORT int thence_put_list_notify(int count, const thence_piece pieces[], int rank, thence_segment segment,
                                         unsigned notification, uint32_t value, int queue, MPI_Request *request);

/** @brief Get several pieces from one target.
 *  @param count        the number of pieces.
 *  @param pieces       what to get.
 *  @param rank         the target.
 *  @param queue        a queue of the space.
 *  @param[out] request as for thence_put_list().
 *  @return as thence_put_list().
 *  @note Threads: any number at once. */
THENCE_EXPORT int thence_get_list(int count, const thence_piece pieces[], int rank, int queue, MPI_Request *request);

/** @brief Add to a 64-bit word of a part, atomically with respect to this call and thence_compare_swap().
 *  @param value        what is added.
 *  @param rank         the target.
 *  @param segment      the segment.
 *  @param offset       of the word, a multiple of 8.
 *  @param[out] old     what the word was; set at local completion.
 *  @param queue        a queue of the space.
 *  @param[out] request local completion, or null.
 *  @return as thence_put(); `MPI_ERR_ARG` also for an offset that is no multiple of 8, memory that is not aligned to 8
 *          bytes, and null `old`.
 *  @note Threads: any number at once. */
THENCE_EXPORT int thence_fetch_add(uint64_t value, int rank, thence_segment segment, size_t offset, uint64_t *old,
                                   int queue, MPI_Request *request);

/** @brief Set a 64-bit word of a part if it has an expected value, atomically as thence_fetch_add().
 *  @param expected     what the word must be.
 *  @param value        what it is set to then.
 *  @param rank         the target.
 *  @param segment      the segment.
 *  @param offset       of the word, a multiple of 8.
 *  @param[out] old     what the word was; set at local completion.
 *  @param queue        a queue of the space.
 *  @param[out] request local completion, or null.
 *  @return as thence_fetch_add().
 *  @note Threads: any number at once. */
THENCE_EXPORT int thence_compare_swap(uint64_t expected, uint64_t value, int rank, thence_segment segment,
                                      size_t offset, uint64_t *old, int queue, MPI_Request *request);

/** @brief Wait until all operations of a queue are locally complete that were started without a request before.
 *  @param space the space.
 *  @param queue a queue of it.
 *  @return `MPI_ERR_ARG` (null `space`, no such queue); the error of an operation that has failed.
 *  @note Threads: any number at once. It makes progress, and runs continuations as thence_progress() does. */
THENCE_EXPORT int thence_queue_flush(thence_space space, int queue);

/** @brief Say how many operations of a queue are not locally complete, of those that were started without a request.
 *  @param space      the space.
 *  @param queue      a queue of it.
 *  @param[out] count how many; 0: thence_queue_flush() would return at once.
 *  @return `MPI_ERR_ARG` (null `space` or `count`, no such queue).
 *  @note Threads: any. It looks which are complete. */
THENCE_EXPORT int thence_queue_size(thence_space space, int queue, int *count);

/** @brief Look for a notification of this process that is not zero.
 *  @param segment the segment.
 *  @param first   the first that is looked at.
 *  @param count   how many are looked at.
 *  @param[out] flag 1 if there is one. The data that were put before it may be read then.
 *  @param[out] notification its number: the lowest. Unchanged with `flag == 0`. May be null.
 *  @return `MPI_ERR_ARG` (null `segment` or `flag`; the part of this process has no such notifications).
 *  @note Threads: any number at once. The notification stays as it is. With messages, the call makes progress. */
THENCE_EXPORT int thence_notification_test(thence_segment segment, unsigned first, unsigned count, int *flag,
                                           unsigned *notification);

/** @brief Wait for a notification of this process that is not zero.
 *  @param segment the segment.
 *  @param first   the first that is looked at.
 *  @param count   how many are looked at, at least 1.
 *  @param[out] notification its number: the lowest that was found. May be null.
 *  @return as thence_notification_test(), and `MPI_ERR_ARG` for no notifications.
 *  @note Threads: any number at once. The calling thread waits, also in a task: tasks and coroutines use
 *        thence_notification_request(). It makes progress, and runs continuations as thence_progress() does. */
THENCE_EXPORT int thence_notification_wait(thence_segment segment, unsigned first, unsigned count,
                                           unsigned *notification);

/** @brief Take the value of a notification of this process, and reset it to zero, in one atomic step.
 *  @param segment      the segment.
 *  @param notification its number.
 *  @param[out] value   what it was. 0: it had not arrived, or another thread has taken it. Otherwise the data that were
 *                      put before it may be read.
 *  @return `MPI_ERR_ARG` (null `segment` or `value`; no such notification).
 *  @note Threads: any number at once; one of them gets the value. */
THENCE_EXPORT int thence_notification_reset(thence_segment segment, unsigned notification, uint32_t *value);

/** @brief Get a request that is complete when notifications of this process have arrived: for continuations, senders,
 *         `co_await`, tasks, and calls of MPI that wait for several things.
 *
 *  Each of the notifications is reset when it has arrived; one that arrives twice counts once. If several requests or
 *  callbacks wait for one notification, each arrival serves one of them, the oldest.
 *
 *  Polls of Thence complete it. With libthence-core alone on MPICH and Intel MPI no call of MPI polls, so `MPI_Wait` on
 *  it returns only if another thread calls Thence meanwhile: link libthence there, or wait by a continuation, a sender
 *  or thence_notification_wait().
 *  @param segment      the segment.
 *  @param first        the first notification.
 *  @param count        how many, at least 1. All of them must arrive.
 *  @param[out] values  array of `count` values, or null. It is set before the request is complete, and stays valid
 *                      until then.
 *  @param[out] request the request; `MPI_REQUEST_NULL` if all have arrived already. It cannot be cancelled.
 *  @return as thence_notification_wait(); `MPI_ERR_ARG` for null `request`; `MPI_ERR_NO_MEM`: nothing has changed.
 *  @note Threads: any number at once. What it costs does not depend on how many others are waited for. */
THENCE_EXPORT int thence_notification_request(thence_segment segment, unsigned first, unsigned count, uint32_t values[],
                                              MPI_Request *request);

/** @brief Called when notifications have arrived.
 *  @param data the pointer given to thence_notification_continue().
 *
 *  It runs as the callback of a continuation does, see thence_callback, on any thread that makes progress. At
 *  `MPI_THREAD_MULTIPLE` the helper thread is one of them, also where `thence run --progress` has raised the level. */
typedef void thence_notification_callback(void *data);

/** @brief Have a function called when notifications of this process have arrived. As thence_notification_request(),
 *         without a request.
 *  @param segment     the segment.
 *  @param first       the first notification.
 *  @param count       how many, at least 1. All of them must arrive.
 *  @param[out] values array of `count` values, or null, as above.
 *  @param callback    called once, never inside this call.
 *  @param data        passed to it.
 *  @param[out] flag   1: all have arrived already, and the values are set; `callback` will not be called.
 *  @return as thence_notification_request(); `MPI_ERR_ARG` for null `callback` or `flag`.
 *  @note Threads: any number at once. */
THENCE_EXPORT int thence_notification_continue(thence_segment segment, unsigned first, unsigned count,
                                               uint32_t values[], thence_notification_callback *callback, void *data,
                                               int *flag);

#ifdef __cplusplus
}
#endif
