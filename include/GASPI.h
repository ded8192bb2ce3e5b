/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/** @file GASPI.h
 *  @brief The interface of GASPI, as GPI-2 declares it, on any MPI. C and C++; library libthence-gaspi.
 *
 *  Processes are started by the launcher of MPI, and GASPI may be used beside MPI in one program. Ranks are those of
 *  `MPI_COMM_WORLD`. One-sided operations are those of thence/notify.h: shared memory on one node, messages elsewhere.
 *
 *  Every call returns a code; `GASPI_SUCCESS` is 0. A wrong argument gives an error that names it, and nothing is done.
 *  Times are in milliseconds: `GASPI_TEST` tries once, `GASPI_BLOCK` waits as long as it takes, and a call that returns
 *  `GASPI_TIMEOUT` is called again with the same arguments. All calls may be used by several threads at a time, if the
 *  program has initialized MPI with `MPI_THREAD_MULTIPLE`, or has left that to gaspi_proc_init(); collective calls of
 *  one group by one thread at a time.
 *
 *  Source: the GASPI specification; the interface of GPI-2 1.6. */

#include <GASPI_types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Configuration. */

/** @brief The configuration in force. */
THENCE_GASPI_EXPORT gaspi_return_t gaspi_config_get(gaspi_config_t *config);

/** @brief Sets it, before gaspi_proc_init(). `GASPI_ERR_CONFIG`: after that, or a value is out of range. */
THENCE_GASPI_EXPORT gaspi_return_t gaspi_config_set(gaspi_config_t new_config);

/** @brief The version of the interface: 1.6. */
THENCE_GASPI_EXPORT gaspi_return_t gaspi_version(float *version);

/* Processes. */

/** @brief Begins, collective over all processes. It initializes MPI if the program has not; then gaspi_proc_term()
 *         ends MPI. As `MPI_Init` it has no time-out: it waits until all processes have called it. */
THENCE_GASPI_EXPORT gaspi_return_t gaspi_proc_init(gaspi_timeout_t timeout_ms);

/** @brief Ends, collective over all processes, after all operations on all queues are complete. `GASPI_TIMEOUT`:
 *         call it again. */
THENCE_GASPI_EXPORT gaspi_return_t gaspi_proc_term(gaspi_timeout_t timeout_ms);

/** @brief The rank of this process, that of `MPI_COMM_WORLD`. */
THENCE_GASPI_EXPORT gaspi_return_t gaspi_proc_rank(gaspi_rank_t *rank);

/** @brief The number of processes. */
THENCE_GASPI_EXPORT gaspi_return_t gaspi_proc_num(gaspi_rank_t *proc_num);

/** @brief Always an error: MPI ends no single process. `GASPI_ERR_INV_RANK` for the rank of the caller. */
THENCE_GASPI_EXPORT gaspi_return_t gaspi_proc_kill(gaspi_rank_t rank, gaspi_timeout_t timeout_ms);

/** @brief Does nothing: all processes are connected. */
THENCE_GASPI_EXPORT gaspi_return_t gaspi_connect(gaspi_rank_t rank, gaspi_timeout_t timeout_ms);

/** @brief Does nothing. */
THENCE_GASPI_EXPORT gaspi_return_t gaspi_disconnect(gaspi_rank_t rank, gaspi_timeout_t timeout_ms);

/* Groups. */

/** @brief Makes an empty group. */
THENCE_GASPI_EXPORT gaspi_return_t gaspi_group_create(gaspi_group_t *group);

/** @brief Frees a group. `GASPI_GROUP_ALL` cannot be freed. */
THENCE_GASPI_EXPORT gaspi_return_t gaspi_group_delete(gaspi_group_t group);

/** @brief Adds a rank, before gaspi_group_commit(). */
THENCE_GASPI_EXPORT gaspi_return_t gaspi_group_add(gaspi_group_t group, gaspi_rank_t rank);

/** @brief Ends the making of a group. Collective over its ranks. `GASPI_TIMEOUT`: call it again. Processes meet which
 *         have added the same ranks; one that has added others waits as long as its time-out lets it. */
THENCE_GASPI_EXPORT gaspi_return_t gaspi_group_commit(gaspi_group_t group, gaspi_timeout_t timeout_ms);

/** @brief The number of groups. */
THENCE_GASPI_EXPORT gaspi_return_t gaspi_group_num(gaspi_number_t *group_num);

/** @brief The number of ranks of a group. */
THENCE_GASPI_EXPORT gaspi_return_t gaspi_group_size(gaspi_group_t group, gaspi_number_t *group_size);

/** @brief The ranks of a group, ascending. */
THENCE_GASPI_EXPORT gaspi_return_t gaspi_group_ranks(gaspi_group_t group, gaspi_rank_t *group_ranks);

/** @brief The largest number of groups. */
THENCE_GASPI_EXPORT gaspi_return_t gaspi_group_max(gaspi_number_t *group_max);

/* Segments. */

/** @brief Makes a segment of new memory, which is zero. Local. */
THENCE_GASPI_EXPORT gaspi_return_t gaspi_segment_alloc(gaspi_segment_id_t segment_id, gaspi_size_t size,
                                                       gaspi_alloc_t alloc_policy);

/** @brief Frees the part of this process. Those of others stay usable. */
THENCE_GASPI_EXPORT gaspi_return_t gaspi_segment_delete(gaspi_segment_id_t segment_id);

/** @brief Lets another process use the part of this one. `GASPI_TIMEOUT`: call it again. */
THENCE_GASPI_EXPORT gaspi_return_t gaspi_segment_register(gaspi_segment_id_t segment_id, gaspi_rank_t rank,
                                                          gaspi_timeout_t timeout_ms);

/** @brief Makes a segment and registers it with all of a group. Collective over the group. `GASPI_TIMEOUT`: call
 *         it again. */
THENCE_GASPI_EXPORT gaspi_return_t gaspi_segment_create(gaspi_segment_id_t segment_id, gaspi_size_t size,
                                                        gaspi_group_t group, gaspi_timeout_t timeout_ms,
                                                        gaspi_alloc_t alloc_policy);

/** @brief Makes a segment of memory of the program. Local. */
THENCE_GASPI_EXPORT gaspi_return_t gaspi_segment_bind(gaspi_segment_id_t segment_id, gaspi_pointer_t pointer,
                                                      gaspi_size_t size, gaspi_memory_description_t memory_description);

/** @brief gaspi_segment_create() with memory of the program. */
THENCE_GASPI_EXPORT gaspi_return_t gaspi_segment_use(gaspi_segment_id_t segment_id, gaspi_pointer_t pointer,
                                                     gaspi_size_t size, gaspi_group_t group, gaspi_timeout_t timeout_ms,
                                                     gaspi_memory_description_t memory_description);

/** @brief The number of segments of this process. */
THENCE_GASPI_EXPORT gaspi_return_t gaspi_segment_num(gaspi_number_t *segment_num);

/** @brief Their numbers, ascending, at most `num`. */
THENCE_GASPI_EXPORT gaspi_return_t gaspi_segment_list(gaspi_number_t num, gaspi_segment_id_t *segment_id_list);

/** @brief Where the part of this process is. */
THENCE_GASPI_EXPORT gaspi_return_t gaspi_segment_ptr(gaspi_segment_id_t segment_id, gaspi_pointer_t *ptr);

/** @brief The largest number of segments. */
THENCE_GASPI_EXPORT gaspi_return_t gaspi_segment_max(gaspi_number_t *segment_max);

/* One-sided operations. `GASPI_QUEUE_FULL`, and nothing was posted: the queue has no room below
   gaspi_queue_size_max(), and gaspi_wait() makes some. A call waits only while 4,096 messages to the rank are under
   way; `GASPI_TIMEOUT`, and nothing was posted: the rank has taken none of them in this time. */

/** @brief Copies from a part of this process to a part of another. */
THENCE_GASPI_EXPORT gaspi_return_t gaspi_write(gaspi_segment_id_t segment_id_local, gaspi_offset_t offset_local,
                                               gaspi_rank_t rank, gaspi_segment_id_t segment_id_remote,
                                               gaspi_offset_t offset_remote, gaspi_size_t size, gaspi_queue_id_t queue,
                                               gaspi_timeout_t timeout_ms);

/** @brief Copies from a part of another process to one of this process. */
THENCE_GASPI_EXPORT gaspi_return_t gaspi_read(gaspi_segment_id_t segment_id_local, gaspi_offset_t offset_local,
                                              gaspi_rank_t rank, gaspi_segment_id_t segment_id_remote,
                                              gaspi_offset_t offset_remote, gaspi_size_t size, gaspi_queue_id_t queue,
                                              gaspi_timeout_t timeout_ms);

/** @brief Several writes. */
THENCE_GASPI_EXPORT gaspi_return_t gaspi_write_list(gaspi_number_t num, gaspi_segment_id_t *segment_id_local,
                                                    gaspi_offset_t *offset_local, gaspi_rank_t rank,
                                                    gaspi_segment_id_t *segment_id_remote,
                                                    gaspi_offset_t *offset_remote, gaspi_size_t *size,
                                                    gaspi_queue_id_t queue, gaspi_timeout_t timeout_ms);

/** @brief Several reads. */
THENCE_GASPI_EXPORT gaspi_return_t gaspi_read_list(gaspi_number_t num, gaspi_segment_id_t *segment_id_local,
                                                   gaspi_offset_t *offset_local, gaspi_rank_t rank,
                                                   gaspi_segment_id_t *segment_id_remote, gaspi_offset_t *offset_remote,
                                                   gaspi_size_t *size, gaspi_queue_id_t queue,
                                                   gaspi_timeout_t timeout_ms);

/** @brief Sets a notification at another process, after all writes to it before on this queue. */
THENCE_GASPI_EXPORT gaspi_return_t gaspi_notify(gaspi_segment_id_t segment_id_remote, gaspi_rank_t rank,
                                                gaspi_notification_id_t notification_id,
                                                gaspi_notification_t notification_value, gaspi_queue_id_t queue,
                                                gaspi_timeout_t timeout_ms);

/** @brief A write, and a notification that is seen after it. */
THENCE_GASPI_EXPORT gaspi_return_t gaspi_write_notify(gaspi_segment_id_t segment_id_local, gaspi_offset_t offset_local,
                                                      gaspi_rank_t rank, gaspi_segment_id_t segment_id_remote,
                                                      gaspi_offset_t offset_remote, gaspi_size_t size,
                                                      gaspi_notification_id_t notification_id,
                                                      gaspi_notification_t notification_value, gaspi_queue_id_t queue,
                                                      gaspi_timeout_t timeout_ms);

/** @brief Several writes, and a notification that is seen after them. */
THENCE_GASPI_EXPORT gaspi_return_t gaspi_write_list_notify(
    gaspi_number_t num, gaspi_segment_id_t *segment_id_local, gaspi_offset_t *offset_local, gaspi_rank_t rank,
    gaspi_segment_id_t *segment_id_remote, gaspi_offset_t *offset_remote, gaspi_size_t *size,
    gaspi_segment_id_t segment_id_notification, gaspi_notification_id_t notification_id,
    gaspi_notification_t notification_value, gaspi_queue_id_t queue, gaspi_timeout_t timeout_ms);

/** @brief A read. When the data are here, the notification of the local part gets the value 1. */
THENCE_GASPI_EXPORT gaspi_return_t gaspi_read_notify(gaspi_segment_id_t segment_id_local, gaspi_offset_t offset_local,
                                                     gaspi_rank_t rank, gaspi_segment_id_t segment_id_remote,
                                                     gaspi_offset_t offset_remote, gaspi_size_t size,
                                                     gaspi_notification_id_t notification_id, gaspi_queue_id_t queue,
                                                     gaspi_timeout_t timeout_ms);

/** @brief Several reads. When all data are here, the notification of the local part gets the value 1. */
THENCE_GASPI_EXPORT gaspi_return_t gaspi_read_list_notify(gaspi_number_t num, gaspi_segment_id_t *segment_id_local,
                                                          gaspi_offset_t *offset_local, gaspi_rank_t rank,
                                                          gaspi_segment_id_t *segment_id_remote,
                                                          gaspi_offset_t *offset_remote, gaspi_size_t *size,
                                                          gaspi_segment_id_t segment_id_notification,
                                                          gaspi_notification_id_t notification_id,
                                                          gaspi_queue_id_t queue, gaspi_timeout_t timeout_ms);

/** @brief Waits until all operations that were posted to the queue before are locally complete: what was written may be
 *         written again. It does not say that a write has arrived; a notification after it does, or a read of the same
 *         rank on the same queue, once it is complete. */
THENCE_GASPI_EXPORT gaspi_return_t gaspi_wait(gaspi_queue_id_t queue, gaspi_timeout_t timeout_ms);

/* Notifications. */

/** @brief Waits until one of `num` notifications of this process is not zero. */
THENCE_GASPI_EXPORT gaspi_return_t gaspi_notify_waitsome(gaspi_segment_id_t segment_id_local,
                                                         gaspi_notification_id_t notification_begin, gaspi_number_t num,
                                                         gaspi_notification_id_t *first_id, gaspi_timeout_t timeout_ms);

/** @brief Takes the value, and resets it to zero, in one atomic step. */
THENCE_GASPI_EXPORT gaspi_return_t gaspi_notify_reset(gaspi_segment_id_t segment_id_local,
                                                      gaspi_notification_id_t notification_id,
                                                      gaspi_notification_t *old_notification_val);

/* Queues. */

/** @brief How many operations of a queue gaspi_wait() or gaspi_request_wait() has not taken off, complete or not. */
THENCE_GASPI_EXPORT gaspi_return_t gaspi_queue_size(gaspi_queue_id_t queue, gaspi_number_t *queue_size);

/** @brief The number of queues. */
THENCE_GASPI_EXPORT gaspi_return_t gaspi_queue_num(gaspi_number_t *queue_num);

/** @brief How many operations a queue can have, as gaspi_queue_size() counts them. */
THENCE_GASPI_EXPORT gaspi_return_t gaspi_queue_size_max(gaspi_number_t *queue_size_max);

/** @brief The largest number of queues. */
THENCE_GASPI_EXPORT gaspi_return_t gaspi_queue_max(gaspi_number_t *queue_max);

/** @brief Makes one more queue. */
THENCE_GASPI_EXPORT gaspi_return_t gaspi_queue_create(gaspi_queue_id_t *queue, gaspi_timeout_t timeout_ms);

/** @brief Frees a queue that gaspi_queue_create() made. */
THENCE_GASPI_EXPORT gaspi_return_t gaspi_queue_delete(gaspi_queue_id_t queue);

/** @brief Waits as gaspi_wait(), and forgets errors. */
THENCE_GASPI_EXPORT gaspi_return_t gaspi_queue_purge(gaspi_queue_id_t queue, gaspi_timeout_t timeout_ms);

/* Passive communication. */

/** @brief Sends to a process that calls gaspi_passive_receive(). The data may be written again on return. In a callback
 *         these two calls get a time: what they wait for may be under way in the call that runs the callback. */
THENCE_GASPI_EXPORT gaspi_return_t gaspi_passive_send(gaspi_segment_id_t segment_id_local, gaspi_offset_t offset_local,
                                                      gaspi_rank_t rank, gaspi_size_t size, gaspi_timeout_t timeout_ms);

/** @brief Receives from any process; those of one process in their order. `GASPI_TIMEOUT`: no message is here, or not
 *         all of it; nothing was written, and a later call goes on. `GASPI_ERROR`: the message has more than `size`
 *         bytes, and stays for a call with more room; or its sender has ended before it was received, and it is
 *         lost. */
THENCE_GASPI_EXPORT gaspi_return_t gaspi_passive_receive(gaspi_segment_id_t segment_id_local,
                                                         gaspi_offset_t offset_local, gaspi_rank_t *rem_rank,
                                                         gaspi_size_t size, gaspi_timeout_t timeout_ms);

/* Atomic operations on 64-bit words, by all processes. `GASPI_ERR_UNALIGN_OFF`: the offset is no multiple of 8. */

/** @brief Adds, and gives the old value. */
THENCE_GASPI_EXPORT gaspi_return_t gaspi_atomic_fetch_add(gaspi_segment_id_t segment_id, gaspi_offset_t offset,
                                                          gaspi_rank_t rank, gaspi_atomic_value_t val_add,
                                                          gaspi_atomic_value_t *val_old, gaspi_timeout_t timeout_ms);

/** @brief Sets the word if it has the value `comparator`, and gives the old value. */
THENCE_GASPI_EXPORT gaspi_return_t gaspi_atomic_compare_swap(gaspi_segment_id_t segment_id, gaspi_offset_t offset,
                                                             gaspi_rank_t rank, gaspi_atomic_value_t comparator,
                                                             gaspi_atomic_value_t val_new,
                                                             gaspi_atomic_value_t *val_old, gaspi_timeout_t timeout_ms);

/** @brief The largest value of a word. */
THENCE_GASPI_EXPORT gaspi_return_t gaspi_atomic_max(gaspi_atomic_value_t *max_value);

/* Collective calls. `GASPI_TIMEOUT`: call it again with the same arguments. `GASPI_ERR_ACTIVE_COLL`: another one
   of this group is not complete. */

/** @brief Waits for all of a group. It does not say that what a rank has written before has arrived, also after
 *         gaspi_wait(): where messages are used, only a notification does. */
THENCE_GASPI_EXPORT gaspi_return_t gaspi_barrier(gaspi_group_t group, gaspi_timeout_t timeout_ms);

/** @brief Reduces elements of all of a group. All get the same result. */
THENCE_GASPI_EXPORT gaspi_return_t gaspi_allreduce(gaspi_pointer_t buffer_send, gaspi_pointer_t buffer_receive,
                                                   gaspi_number_t num, gaspi_operation_t operation,
                                                   gaspi_datatype_t datatype, gaspi_group_t group,
                                                   gaspi_timeout_t timeout_ms);

/** @brief The same with an operation of the program. */
THENCE_GASPI_EXPORT gaspi_return_t gaspi_allreduce_user(gaspi_pointer_t buffer_send, gaspi_pointer_t buffer_receive,
                                                        gaspi_number_t num, gaspi_size_t element_size,
                                                        gaspi_reduce_operation_t reduce_operation,
                                                        gaspi_reduce_state_t reduce_state, gaspi_group_t group,
                                                        gaspi_timeout_t timeout_ms);

/* Limits, time, errors. */

/** @brief The smallest transfer. */
THENCE_GASPI_EXPORT gaspi_return_t gaspi_transfer_size_min(gaspi_size_t *transfer_size_min);

/** @brief The largest transfer. */
THENCE_GASPI_EXPORT gaspi_return_t gaspi_transfer_size_max(gaspi_size_t *transfer_size_max);

/** @brief How many notifications a part has. */
THENCE_GASPI_EXPORT gaspi_return_t gaspi_notification_num(gaspi_number_t *notification_num);

/** @brief The smallest passive transfer. */
THENCE_GASPI_EXPORT gaspi_return_t gaspi_passive_transfer_size_min(gaspi_size_t *passive_transfer_size_min);

/** @brief The largest passive transfer. */
THENCE_GASPI_EXPORT gaspi_return_t gaspi_passive_transfer_size_max(gaspi_size_t *passive_transfer_size_max);

/** @brief How many bytes gaspi_allreduce_user() reduces at most. */
THENCE_GASPI_EXPORT gaspi_return_t gaspi_allreduce_buf_size(gaspi_size_t *buf_size);

/** @brief How many elements are reduced at most. */
THENCE_GASPI_EXPORT gaspi_return_t gaspi_allreduce_elem_max(gaspi_number_t *elem_max);

/** @brief What the configuration says. */
THENCE_GASPI_EXPORT gaspi_return_t gaspi_network_type(gaspi_network_t *network_type);

/** @brief What the configuration says. */
THENCE_GASPI_EXPORT gaspi_return_t gaspi_build_infrastructure(gaspi_number_t *build_infrastructure);

/** @brief The time stamp counter of the processor, or nanoseconds. */
THENCE_GASPI_EXPORT gaspi_return_t gaspi_time_ticks(gaspi_cycles_t *ticks);

/** @brief Milliseconds since the first gaspi_proc_init(). */
THENCE_GASPI_EXPORT gaspi_return_t gaspi_time_get(gaspi_time_t *wtime);

/** @brief The text of a code, in memory that the caller frees. */
THENCE_GASPI_EXPORT gaspi_return_t gaspi_print_error(gaspi_return_t error_code, gaspi_string_t *error_message);

/** @brief For each rank whether an operation to it has failed. */
THENCE_GASPI_EXPORT gaspi_return_t gaspi_state_vec_get(gaspi_state_vector_t state_vector);

/* Statistics. */

/** @brief Does nothing: all counters have level 1, and always count. */
THENCE_GASPI_EXPORT gaspi_return_t gaspi_statistic_verbosity_level(gaspi_number_t verbosity_level);

/** @brief The number of counters. */
THENCE_GASPI_EXPORT gaspi_return_t gaspi_statistic_counter_max(gaspi_number_t *counter_max);

/** @brief What a counter counts. The texts are the library's. */
THENCE_GASPI_EXPORT gaspi_return_t gaspi_statistic_counter_info(gaspi_statistic_counter_t counter,
                                                                gaspi_statistic_argument_t *counter_argument,
                                                                gaspi_string_t *counter_name,
                                                                gaspi_string_t *counter_description,
                                                                gaspi_number_t *verbosity_level);

/** @brief Its value. */
THENCE_GASPI_EXPORT gaspi_return_t gaspi_statistic_counter_get(gaspi_statistic_counter_t counter,
                                                               gaspi_number_t argument, unsigned long *value);

/** @brief Sets it to zero. */
THENCE_GASPI_EXPORT gaspi_return_t gaspi_statistic_counter_reset(gaspi_statistic_counter_t counter);

#ifdef __cplusplus
}
#endif
