/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef THENCE_MPIX_CONTINUE_FORUM_H
#define THENCE_MPIX_CONTINUE_FORUM_H

/** @file mpix_continue_forum.h
 *  @brief MPI Continuations as in the later text of the MPI Forum's hybrid working group, on any stock MPI.
 *
 *  The differences to `mpix_continue.h`: continuation requests must be started, callbacks take and return an error
 *  code, no `flag` is returned, and continuations of an active continuation request may run inside the attaching call
 *  unless `MPIX_CONT_DEFER_COMPLETE` is given. The attaching call is the last to access the request array, so the two
 *  flags about its memory are accepted and have no effect. */

#include <thence/thence.h>

#ifdef THENCE_MPIX_CONTINUE_H
#error "include thence/mpix_continue.h or thence/mpix_continue_forum.h, not both: they give the same names two meanings"
#endif

#define MPIX_CONT_REQBUF_VOLATILE (1 << 0) /**< the request array is not touched after the call (always so here) */
/* clang-format would break this line before the value. */
/* clang-format off */
#define MPIX_CONT_REQUESTS_FREE (1 << 1)  /**< the memory of the request array may be freed after the call (always so
                                               here). Persistent requests are not freed: the caller uses and frees them
                                               through copies of their handles */
/* clang-format on */
#define MPIX_CONT_POLL_ONLY (1 << 2)      /**< MPIX_Continue_init() alone: run only in a test or wait of this request */
#define MPIX_CONT_DEFER_COMPLETE (1 << 3) /**< never run the callback inside the attaching call */
#define MPIX_CONT_INVOKE_FAILED (1 << 4)  /**< run the callback with the error code if an operation failed */

#define MPIX_Continue_cb_function thence_mpix_forum_cb_function
#define MPIX_Continue_init thence_mpix_forum_continue_init
#define MPIX_Continue thence_mpix_forum_continue
#define MPIX_Continueall thence_mpix_forum_continueall
#define MPIX_Continue_get_failed thence_mpix_forum_get_failed

#ifdef __cplusplus
extern "C" {
#endif

/** @brief The callback.
 *  @param rc      `MPI_SUCCESS`, or with `MPIX_CONT_INVOKE_FAILED` the error of the first failed operation.
 *  @param cb_data as given on attaching.
 *  @return `MPI_SUCCESS`, or an error code that marks the continuation failed. */
typedef int(MPIX_Continue_cb_function)(int rc, void *cb_data);

/** @brief Create a continuation request; start it with `MPI_Start` before callbacks can run.
 *  @param flags    0 or `MPIX_CONT_POLL_ONLY`.
 *  @param max_poll the most continuations per test; 0 and `MPI_UNDEFINED` for no limit.
 *  @param info     all keys of thence_cr_create(). A key overrides the argument of the same meaning. In
 *                  `mpi_continue_max_poll` -1 means no limit, as there. The value of `mpi_continue_enqueue_complete` is
 *                  checked and has no effect, since these calls return no flag for operations that are complete at
 *                  once.
 *  @param[out] cont_req the new request, inactive.
 *  @return `MPI_ERR_ARG` (null pointer, a flag other than `MPIX_CONT_POLL_ONLY`, another negative max_poll), else as
 *          thence_cr_create(). */
THENCE_EXPORT int MPIX_Continue_init(int flags, int max_poll, MPI_Info info, MPI_Request *cont_req);

/** @brief Attach a continuation to one operation; its callback runs even if the operation is complete already.
 *  @param[in,out] request the operation; `MPI_REQUEST_NULL` on return unless persistent.
 *  @param cb       the callback.
 *  @param cb_data  its data.
 *  @param flags    0 or a combination of `MPIX_CONT_REQBUF_VOLATILE`, `MPIX_CONT_REQUESTS_FREE`,
 *                  `MPIX_CONT_DEFER_COMPLETE` and `MPIX_CONT_INVOKE_FAILED`.
 *  @param status   memory that is valid until the callback has run, or `MPI_STATUS_IGNORE`.
 *  @param cont_req the continuation request.
 *  @return as thence_attach(); `MPI_ERR_ARG` also for any other flag.
 *  @note Threads: any number at once. */
THENCE_EXPORT int MPIX_Continue(MPI_Request *request, MPIX_Continue_cb_function *cb, void *cb_data, int flags,
                                MPI_Status *status, MPI_Request cont_req);

/** @brief Attach a continuation that runs once all `count` operations are complete. As MPIX_Continue(). */
THENCE_EXPORT int MPIX_Continueall(int count, MPI_Request requests[], MPIX_Continue_cb_function *cb, void *cb_data,
                                   int flags, MPI_Status *statuses, MPI_Request cont_req);

/** @brief Take the `cb_data` of failed continuations. As thence_get_failed(). */
THENCE_EXPORT int MPIX_Continue_get_failed(MPI_Request cont_req, int *count, void **cb_data);

#ifdef __cplusplus
}
#endif
#endif
