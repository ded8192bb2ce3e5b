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
THENCE_GASPI_EXPORT gaspi_return_t gaspi_operation_submit(
    const gaspi_operation_t operation, const gaspi_tag_t tag, const gaspi_segment_id_t segment_id_local,
    const gaspi_offset_t offset_local, const gaspi_rank_t rank, const gaspi_segment_id_t segment_id_remote,
    const gaspi_offset_t offset_remote, const gaspi_size_t size, const gaspi_notification_id_t notification_id,
    const gaspi_notification_t notification_value, const gaspi_queue_id_t queue, const gaspi_timeout_t timeout_ms);

/** @brief The same for lists (`GASPI_OP_READ_LIST`, `_WRITE_LIST`, `_WRITE_LIST_NOTIFY`). */
THENCE_GASPI_EXPORT gaspi_return_t gaspi_operation_list_submit(
    const gaspi_operation_t operation, const gaspi_tag_t tag, const gaspi_number_t num,
    gaspi_segment_id_t *const segment_id_local, gaspi_offset_t *const offset_local, const gaspi_rank_t rank,
    gaspi_segment_id_t *const segment_id_remote, gaspi_offset_t *const offset_remote, gaspi_size_t *const size,
    const gaspi_segment_id_t segment_id_notification, const gaspi_notification_id_t notification_id,
    const gaspi_notification_t notification_value, const gaspi_queue_id_t queue, const gaspi_timeout_t timeout_ms);

/** @brief How often the tag of an operation is given: once; twice for a write with a notification; for a list `num`
 *         times, once for each piece, and once more for its notification. `num` is read for lists alone. */
THENCE_GASPI_EXPORT gaspi_return_t gaspi_operation_get_num_requests(const gaspi_operation_t operation,
                                                                    const gaspi_number_t num,
                                                                    gaspi_number_t *const num_requests);

/** @brief Gives up to `max_reqs` tags of low-level requests that are locally complete. `GASPI_TIMEOUT`: fewer;
 *         those that `completed_reqs` counts are given. */
THENCE_GASPI_EXPORT gaspi_return_t gaspi_request_wait(const gaspi_queue_id_t queue, const gaspi_number_t max_reqs,
                                                      gaspi_number_t *const completed_reqs, gaspi_tag_t array_of_tags[],
                                                      gaspi_status_t array_of_statuses[],
                                                      const gaspi_timeout_t timeout_ms);

#ifdef __cplusplus
}
#endif
