/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/** @file TAGASPI.h
 *  @brief The interface of TAGASPI (Task-Aware GASPI) on any MPI and any task runtime. C and C++; library
 *         libthence-tagaspi.
 *
 *  A task that starts an operation, or asks for a notification, returns at once, and what depends on the task starts
 *  when the operation is locally complete, or the notification has arrived. A task may call several of these, and those
 *  of TAMPI.h. Segments, queues, ranks, notifications and collective calls are those of GASPI.h, which the program uses
 *  beside this header; gaspi_wait() is not needed, and does not wait for these operations.
 *
 *  The tasks are those of a runtime with ALPI in the process (nOS-V, Nanos6, libthence-alpi) and detached tasks of
 *  OpenMP (thence/omp.h), which tagaspi_proc_init() finds, and of every runtime with events that the program has added
 *  with thence_task_runtime_add(), such as thence_flow_task_runtime(). In what follows *a task* is a task of such a
 *  runtime, in its body or in its `onready` action, on a thread that is task-aware (thence_task_thread_aware()).
 *  Anywhere else is *outside of a task*: there each call waits until what it has started is locally complete, or the
 *  notifications have arrived.
 *
 *  Operations have no time-out, and a queue is never full. What differs from the GASPI call of the same name is said at
 *  tagaspi_write(). An operation that fails after its call has returned marks its rank in the state vector, and its
 *  error goes with the event to the runtime (the data-flow layer throws it from taskwait(); ALPI passes no error).
 *
 *  Each call returns a code; `GASPI_SUCCESS` is 0, and `GASPI_ERR_NOINIT` says that tagaspi_proc_init() was not called.
 *  A wrong argument gives the error of the GASPI call: nothing is done, and nothing bound to the task.
 *
 *  Source: Sala et al. 2021, "Combining one-sided communications with task-based programming models", sections 4 and 5;
 *  the interface of TAGASPI 2.0. */

#include <GASPI.h>

#ifdef __cplusplus
extern "C" {
#endif

/** In place of the pointer to the value of a notification: it is not needed. */
#define GASPI_NOTIFICATION_IGNORE ((gaspi_notification_t *)0)

/** A queue group: 0 to 15. */
typedef unsigned char gaspi_queue_group_id_t;

/** Which queue of a group a call of tagaspi_queue_group_get_queue() gives. */
typedef enum {
    GASPI_QUEUE_GROUP_POLICY_DEFAULT = 0, /**< one after the other */
    GASPI_QUEUE_GROUP_POLICY_CPU_RR = 1   /**< the same for each processor; processors of one NUMA node share queues */
} gaspi_queue_group_policy_t;

/** @brief Begins, collective over all processes: gaspi_proc_init(), and task runtimes are looked for.
 *  @return as gaspi_proc_init(); `GASPI_ERR_ENV`: MPI was initialized below `MPI_THREAD_MULTIPLE`. */
THENCE_GASPI_EXPORT gaspi_return_t tagaspi_proc_init(gaspi_timeout_t timeout_ms);

/** @brief Ends, collective over all processes, after all operations and notifications that tasks wait for have come:
 *         gaspi_proc_term(). Queue groups are deleted. `GASPI_TIMEOUT`: call it again. */
THENCE_GASPI_EXPORT gaspi_return_t tagaspi_proc_term(gaspi_timeout_t timeout_ms);

/** @brief As gaspi_write(). What depends on the task may overwrite the data.
 *  @return as gaspi_write(), but never `GASPI_QUEUE_FULL` or `GASPI_TIMEOUT`. */
THENCE_GASPI_EXPORT gaspi_return_t tagaspi_write(gaspi_segment_id_t segment_id_local, gaspi_offset_t offset_local,
                                                 gaspi_rank_t rank, gaspi_segment_id_t segment_id_remote,
                                                 gaspi_offset_t offset_remote, gaspi_size_t size,
                                                 gaspi_queue_id_t queue);

/** @brief As gaspi_read(). What depends on the task has the data. */
THENCE_GASPI_EXPORT gaspi_return_t tagaspi_read(gaspi_segment_id_t segment_id_local, gaspi_offset_t offset_local,
                                                gaspi_rank_t rank, gaspi_segment_id_t segment_id_remote,
                                                gaspi_offset_t offset_remote, gaspi_size_t size,
                                                gaspi_queue_id_t queue);

/** @brief As gaspi_write_list(). The arrays may go when the call returns. */
THENCE_GASPI_EXPORT gaspi_return_t tagaspi_write_list(gaspi_number_t num, gaspi_segment_id_t *segment_id_local,
                                                      gaspi_offset_t *offset_local, gaspi_rank_t rank,
                                                      gaspi_segment_id_t *segment_id_remote,
                                                      gaspi_offset_t *offset_remote, gaspi_size_t *size,
                                                      gaspi_queue_id_t queue);

/** @brief As gaspi_read_list(). The arrays may go when the call returns. */
THENCE_GASPI_EXPORT gaspi_return_t tagaspi_read_list(gaspi_number_t num, gaspi_segment_id_t *segment_id_local,
                                                     gaspi_offset_t *offset_local, gaspi_rank_t rank,
                                                     gaspi_segment_id_t *segment_id_remote,
                                                     gaspi_offset_t *offset_remote, gaspi_size_t *size,
                                                     gaspi_queue_id_t queue);

/** @brief As gaspi_notify(). */
THENCE_GASPI_EXPORT gaspi_return_t tagaspi_notify(gaspi_segment_id_t segment_id_remote, gaspi_rank_t rank,
                                                  gaspi_notification_id_t notification_id,
                                                  gaspi_notification_t notification_value, gaspi_queue_id_t queue);

/** @brief As gaspi_write_notify(). What depends on the task may overwrite the data. */
THENCE_GASPI_EXPORT gaspi_return_t tagaspi_write_notify(
    gaspi_segment_id_t segment_id_local, gaspi_offset_t offset_local, gaspi_rank_t rank,
    gaspi_segment_id_t segment_id_remote, gaspi_offset_t offset_remote, gaspi_size_t size,
    gaspi_notification_id_t notification_id, gaspi_notification_t notification_value, gaspi_queue_id_t queue);

/** @brief As gaspi_write_list_notify(). The arrays may go when the call returns. */
THENCE_GASPI_EXPORT gaspi_return_t tagaspi_write_list_notify(
    gaspi_number_t num, gaspi_segment_id_t *segment_id_local, gaspi_offset_t *offset_local, gaspi_rank_t rank,
    gaspi_segment_id_t *segment_id_remote, gaspi_offset_t *offset_remote, gaspi_size_t *size,
    gaspi_segment_id_t segment_id_notification, gaspi_notification_id_t notification_id,
    gaspi_notification_t notification_value, gaspi_queue_id_t queue);

/** @brief As gaspi_read_notify(): the notification of this process is set to 1 when the data are here, before what
 *         depends on the task starts. It does not wait for operations that were posted before. */
THENCE_GASPI_EXPORT gaspi_return_t tagaspi_read_notify(gaspi_segment_id_t segment_id_local, gaspi_offset_t offset_local,
                                                       gaspi_rank_t rank, gaspi_segment_id_t segment_id_remote,
                                                       gaspi_offset_t offset_remote, gaspi_size_t size,
                                                       gaspi_notification_id_t notification_id, gaspi_queue_id_t queue);

/** @brief As gaspi_read_list_notify(): set when the data of all pieces are here. See tagaspi_read_notify(). */
THENCE_GASPI_EXPORT gaspi_return_t tagaspi_read_list_notify(
    gaspi_number_t num, gaspi_segment_id_t *segment_id_local, gaspi_offset_t *offset_local, gaspi_rank_t rank,
    gaspi_segment_id_t *segment_id_remote, gaspi_offset_t *offset_remote, gaspi_size_t *size,
    gaspi_segment_id_t segment_id_notification, gaspi_notification_id_t notification_id, gaspi_queue_id_t queue);

/** @brief What depends on the task starts when a notification of this process has arrived. It is reset then.
 *  @param segment_id_local          a segment with a part of this process.
 *  @param notification_id           the notification.
 *  @param[out] old_notification_value its value, set before what depends on the task starts, or
 *                                   `GASPI_NOTIFICATION_IGNORE`. Not touched before. It must not lie on the stack of
 *                                   the task, which does not read it.
 *  @return `GASPI_ERR_INV_SEG`; `GASPI_ERR_INV_NOTIF_ID`; `GASPI_ERR_MEMALLOC`.
 *
 *  If it has arrived already, nothing is bound. If several tasks wait for one notification, each arrival serves one of
 *  them, the oldest. What a task that waits costs does not depend on how many others do. The segment cannot be deleted
 *  while a task waits. */
THENCE_GASPI_EXPORT gaspi_return_t tagaspi_notify_iwait(gaspi_segment_id_t segment_id_local,
                                                        gaspi_notification_id_t notification_id,
                                                        gaspi_notification_t *old_notification_value);

/** @brief The same for each of `num` notifications from `notification_begin` on; one that arrives twice counts once.
 *  @param[out] old_notification_values array of `num` values, or `GASPI_NOTIFICATION_IGNORE`.
 *  @return also `GASPI_ERR_INV_NUM`: the segment has fewer. `num` 0: nothing is done. */
THENCE_GASPI_EXPORT gaspi_return_t tagaspi_notify_iwaitall(gaspi_segment_id_t segment_id_local,
                                                           gaspi_notification_id_t notification_begin,
                                                           gaspi_number_t num,
                                                           gaspi_notification_t old_notification_values[]);

/** @brief The name that releases of TAGASPI have for tagaspi_notify_iwait(). */
THENCE_GASPI_EXPORT gaspi_return_t tagaspi_notify_async_wait(gaspi_segment_id_t segment_id_local,
                                                             gaspi_notification_id_t notification_id,
                                                             gaspi_notification_t *old_notification_value);

/** @brief The name that releases of TAGASPI have for tagaspi_notify_iwaitall(). */
THENCE_GASPI_EXPORT gaspi_return_t tagaspi_notify_async_waitall(gaspi_segment_id_t segment_id_local,
                                                                gaspi_notification_id_t notification_begin,
                                                                gaspi_number_t num,
                                                                gaspi_notification_t old_notification_values[]);

/** @brief Makes a group of `queue_num` queues from `queue_begin` on. Nobody uses the group meanwhile.
 *  @return `GASPI_ERR_INV_NUM` (no such group, no queues); `GASPI_ERR_INV_QUEUE` (a queue was not created);
 *          `GASPI_ERR_CONFIG` (no such policy); `GASPI_ERR_INITED` (the group exists). */
THENCE_GASPI_EXPORT gaspi_return_t tagaspi_queue_group_create(gaspi_queue_group_id_t queue_group,
                                                              gaspi_queue_id_t queue_begin, gaspi_number_t queue_num,
                                                              gaspi_queue_group_policy_t policy);

/** @brief Deletes a group; its queues stay. Nobody uses the group meanwhile. `GASPI_ERR_INV_NUM`: it does not exist. */
THENCE_GASPI_EXPORT gaspi_return_t tagaspi_queue_group_delete(gaspi_queue_group_id_t queue_group);

/** @brief Gives a queue of a group, as its policy says. Any number of threads at once. `GASPI_ERR_INV_NUM`: the group
 *         does not exist. */
THENCE_GASPI_EXPORT gaspi_return_t tagaspi_queue_group_get_queue(gaspi_queue_group_id_t queue_group,
                                                                 gaspi_queue_id_t *queue);

/** @brief The number of groups that there can be: 16. */
THENCE_GASPI_EXPORT gaspi_return_t tagaspi_queue_group_max(gaspi_number_t *queue_group_max);

#ifdef __cplusplus
}
#endif
