/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/** @file GASPI_Lowlevel.h
 *  @brief Operations with tags: the extension of GASPI for task-aware libraries. C and C++; library libthence-gaspi.
 *
 *  Source: Sala et al. 2021, "Combining one-sided communications with task-based programming models", section 4. */

#include <GASPI.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Comes back when an operation is locally complete; 64 bits, so that it can be a pointer. */
typedef unsigned long long gaspi_tag_t;
/** The tag of operations that have none: they are not given by gaspi_request_wait(). */
#define GASPI_TAG_NULL 0ULL

/** How a low-level request has ended. */
typedef struct {
    gaspi_return_t error; /**< `GASPI_SUCCESS` or `GASPI_ERROR` */
} gaspi_status_t;

/** @brief Posts one operation (`GASPI_OP_READ`, `_WRITE`, `_NOTIFY`, `_WRITE_NOTIFY`); what it does not need is
 *         ignored. gaspi_request_wait() gives the tag once for each of its low-level requests. */
THENCE_GASPI_EXPORT gaspi_return_t
gaspi_operation_submit(gaspi_operation_t operation, gaspi_tag_t tag, gaspi_segment_id_t segment_id_local,
                       gaspi_offset_t offset_local, gaspi_rank_t rank, gaspi_segment_id_t segment_id_remote,
                       gaspi_offset_t offset_remote, gaspi_size_t size, gaspi_notification_id_t notification_id,
                       gaspi_notification_t notification_value, gaspi_queue_id_t queue, gaspi_timeout_t timeout_ms);

/** @brief The same for lists (`GASPI_OP_READ_LIST`, `_WRITE_LIST`, `_WRITE_LIST_NOTIFY`). */
THENCE_GASPI_EXPORT gaspi_return_t gaspi_operation_list_submit(
    gaspi_operation_t operation, gaspi_tag_t tag, gaspi_number_t num, gaspi_segment_id_t *segment_id_local,
    gaspi_offset_t *offset_local, gaspi_rank_t rank, gaspi_segment_id_t *segment_id_remote,
    gaspi_offset_t *offset_remote, gaspi_size_t *size, gaspi_segment_id_t segment_id_notification,
    gaspi_notification_id_t notification_id, gaspi_notification_t notification_value, gaspi_queue_id_t queue,
    gaspi_timeout_t timeout_ms);

/** @brief How often the tag of an operation is given: once; twice for a write with a notification; for a list `num`
 *         times, once for each piece, and once more for its notification. `num` is read for lists alone. */
THENCE_GASPI_EXPORT gaspi_return_t gaspi_operation_get_num_requests(gaspi_operation_t operation, gaspi_number_t num,
                                                                    gaspi_number_t *num_requests);

/** @brief Gives up to `max_reqs` tags of low-level requests that are locally complete. `GASPI_TIMEOUT`: fewer;
 *         those that `completed_reqs` counts are given. */
THENCE_GASPI_EXPORT gaspi_return_t gaspi_request_wait(gaspi_queue_id_t queue, gaspi_number_t max_reqs,
                                                      gaspi_number_t *completed_reqs, gaspi_tag_t array_of_tags[],
                                                      gaspi_status_t array_of_statuses[], gaspi_timeout_t timeout_ms);

#ifdef __cplusplus
}
#endif
