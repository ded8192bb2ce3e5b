/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef THENCE_MPIX_CONTINUE_H
#define THENCE_MPIX_CONTINUE_H

/** @file mpix_continue.h
 *  @brief MPI Continuations with the signatures of Schuchart et al. 2021 (listing 1), on any stock MPI.
 *
 *  A source file includes this header or `mpix_continue_forum.h`, not both. Both can be used in one process. The names
 *  are macros for symbols of this library, so they do not conflict with symbols of an MPI that has these functions. */

#include <thence/thence.h>

#ifdef THENCE_MPIX_CONTINUE_FORUM_H
#error "include thence/mpix_continue.h or thence/mpix_continue_forum.h, not both: they give the same names two meanings"
#endif

#define MPIX_Continue_cb_function thence_mpix_continue_cb_function
#define MPIX_Continue_init thence_mpix_continue_init
#define MPIX_Continue thence_mpix_continue
#define MPIX_Continueall thence_mpix_continueall

#ifdef __cplusplus
extern "C" {
#endif

/** @brief The callback: `statuses` as given on registration, and set; `cb_data` as given. Rules: ::thence_callback. */
typedef void(MPIX_Continue_cb_function)(MPI_Status *statuses, void *cb_data);

/** @brief Create a continuation request, ready to use. `MPI_Request_free` frees it.
 *  @param[out] cont_req the continuation request.
 *  @param info          see thence_cr_create().
 *  @return as thence_cr_create().
 *  @note Source: paper section 2.1. */
THENCE_EXPORT int MPIX_Continue_init(MPI_Request *cont_req, MPI_Info info);

/** @brief Attach a continuation to one operation.
 *  @param[in,out] op_request the operation; `MPI_REQUEST_NULL` on return unless persistent.
 *  @param[out] flag 1: the operation is complete already, `status` is set, `cb` will not run; 0: `cb` will run.
 *  @param cb       the callback.
 *  @param cb_data  its data.
 *  @param status   memory that is valid until `cb` has run, or `MPI_STATUS_IGNORE`.
 *  @param cont_req the continuation request.
 *  @return as thence_attach().
 *  @note Threads: any number at once. Source: paper section 2.2. */
THENCE_EXPORT int MPIX_Continue(MPI_Request *op_request, int *flag, MPIX_Continue_cb_function *cb, void *cb_data,
                                MPI_Status *status, MPI_Request cont_req);

/** @brief Attach a continuation that runs once all `count` operations are complete. As MPIX_Continue(). */
THENCE_EXPORT int MPIX_Continueall(int count, MPI_Request op_requests[], int *flag, MPIX_Continue_cb_function *cb,
                                   void *cb_data, MPI_Status *statuses, MPI_Request cont_req);

#ifdef __cplusplus
}
#endif
#endif
