/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/** @file grequest.h
 *  @brief Generalized requests that MPI polls: work outside of MPI that completes in MPI's own calls.
 *
 *  A generalized request of MPI stands for work that MPI does not do itself: a timer, a file, a task, a GPU. With plain
 *  MPI a thread of the program has to find out that the work has ended, and call `MPI_Grequest_complete`. Here the
 *  program gives a *poll function*, which progress calls until the work has ended. So the request completes in any call
 *  that waits for it or tests it, alone or mixed with other requests, and continuations can be attached to it.
 *
 *  The signatures are those of MPICH 5, and the semantics are what Zhou et al. describe ("Designing and Prototyping
 *  Extensions to MPI in MPICH"). MPICH 5 itself does not do all of that: there MPI_Waitall calls no poll function,
 *  MPI_Wait on such a request lets MPI make no progress, and a null `wait_fn` is refused. thence/mpix.h gives MPICH's
 *  names to these functions.
 *
 *  Who calls the functions: on Open MPI, every call that makes progress. On other MPIs, calls that wait or test, if the
 *  program is linked with libthence; calls of Thence that make progress; and, with `THENCE_PROGRESS=thread` or
 *  thence_start_progress_thread(), a thread of Thence. One pass calls at most 64 poll functions: the newest and the
 *  next in rotation, so 100,000 outstanding requests do not hold up messages. */

#include <thence/thence.h>

#ifdef __cplusplus
extern "C" {
#endif

/** @brief Says whether the work has ended.
 *  @param extra_state the pointer given to the call that started the request.
 *  @param status      a status of the request. It is never null. What is set there, the query function finds in its
 *                     own.
 *  @return `MPI_SUCCESS`. Any other code ends the request: the call that completes it returns that code.
 *
 *  If the work has ended, the function calls `MPI_Grequest_complete` on the request and returns. It may be called from
 *  the call that starts the request on, by any thread that is in MPI, but only by one at a time, and not after
 *  `MPI_Grequest_complete`. It must not block for long, since the other requests and maybe MPI wait meanwhile. It may
 *  call MPI, test and wait for messages, and start operations and other generalized requests. It must not wait for
 *  another generalized request or for a continuation: neither runs inside it. It must not throw. */
typedef int(thence_grequest_poll_function)(void *extra_state, MPI_Status *status);

/** @brief Waits until the work of several requests has ended.
 *  @param count           number of requests, at least 1.
 *  @param array_of_states the `extra_state` of each.
 *  @param timeout         seconds after which it should return, so that MPI can make progress. It is called again.
 *  @param status          array of `count` statuses, as for the poll function.
 *  @return `MPI_SUCCESS`. Any other code ends those of the requests that are not complete.
 *
 *  It calls `MPI_Grequest_complete` on the requests whose work has ended. It is called in a call of MPI that blocks, if
 *  all requests that the call still waits for are generalized requests with this wait function, once for all of them.
 *  No poll function of these requests runs meanwhile. The rules of the poll function hold, but it may block until
 *  `timeout`. A function that ignores the time-out is allowed; then this thread makes no progress meanwhile. */
typedef int(thence_grequest_wait_function)(int count, void **array_of_states, double timeout, MPI_Status *status);

/** A class of generalized requests: their functions. */
typedef int thence_grequest_class;

/** The poll function calls no function of MPI but `MPI_Grequest_complete`. MPICH 4.3 and later then calls it in every
 *  call that makes progress, also where the program is not linked with libthence's calls (Fortran). Elsewhere it
 *  changes nothing. */
#define THENCE_POLL_CALLS_NO_MPI (1U << 0)

/** @brief Start a generalized request.
 *  @param query_fn    as for `MPI_Grequest_start`.
 *  @param free_fn     as for `MPI_Grequest_start`.
 *  @param cancel_fn   as for `MPI_Grequest_start`.
 *  @param poll_fn     the poll function, or null: something else completes the request.
 *  @param wait_fn     the wait function, or null. It is called only if the program is linked with libthence. A request
 *                     that has this function alone completes only in a call that blocks.
 *  @param extra_state passed to all of them.
 *  @param[out] request the request. It is set before the first call of `poll_fn`: so let it be a part of `extra_state`.
 *  @return `MPI_ERR_ARG` (null `query_fn`, `free_fn`, `cancel_fn` or `request`); `MPI_ERR_NO_MEM`; `MPI_ERR_OTHER`
 *          before `MPI_Init` and after `MPI_Finalize`.
 *  @note Threads: any. */
THENCE_EXPORT int thence_grequest_start(MPI_Grequest_query_function *query_fn, MPI_Grequest_free_function *free_fn,
                                        MPI_Grequest_cancel_function *cancel_fn, thence_grequest_poll_function *poll_fn,
                                        thence_grequest_wait_function *wait_fn, void *extra_state,
                                        MPI_Request *request);

/** @brief As thence_grequest_start(), with options.
 *  @param query_fn    as above; so are `free_fn`, `cancel_fn`, `poll_fn`, `wait_fn`, `extra_state` and `request`.
 *  @param flags       0 or ::THENCE_POLL_CALLS_NO_MPI.
 *  @return as thence_grequest_start(), and `MPI_ERR_ARG` for unknown flags.
 *  @note Threads: any. */
THENCE_EXPORT int thence_grequest_start_x(MPI_Grequest_query_function *query_fn, MPI_Grequest_free_function *free_fn,
                                          MPI_Grequest_cancel_function *cancel_fn,
                                          thence_grequest_poll_function *poll_fn,
                                          thence_grequest_wait_function *wait_fn, void *extra_state, unsigned flags,
                                          MPI_Request *request);

/** @brief Create a class of generalized requests.
 *  @param query_fn    as for thence_grequest_start(); so are `free_fn`, `cancel_fn`, `poll_fn` and `wait_fn`.
 *  @param[out] greq_class the class. It lives until thence_grequest_class_free() or `MPI_Finalize`.
 *  @return `MPI_ERR_ARG` (null `query_fn`, `free_fn`, `cancel_fn` or `greq_class`); `MPI_ERR_NO_MEM`; `MPI_ERR_OTHER`
 *          before `MPI_Init` and after `MPI_Finalize`.
 *  @note Threads: any. */
THENCE_EXPORT int
thence_grequest_class_create(MPI_Grequest_query_function *query_fn, MPI_Grequest_free_function *free_fn,
                             MPI_Grequest_cancel_function *cancel_fn, thence_grequest_poll_function *poll_fn,
                             thence_grequest_wait_function *wait_fn, thence_grequest_class *greq_class);

/** @brief Start a generalized request of a class.
 *  @param greq_class  the class.
 *  @param extra_state passed to the functions of the class.
 *  @param[out] request the request, as for thence_grequest_start().
 *  @return `MPI_ERR_ARG` (no live class, null `request`); `MPI_ERR_NO_MEM`; `MPI_ERR_OTHER`.
 *  @note Threads: any. */
THENCE_EXPORT int thence_grequest_class_allocate(thence_grequest_class greq_class, void *extra_state,
                                                 MPI_Request *request);

/** @brief Free a class. Its requests are not concerned: they keep its functions.
 *  @param[in,out] greq_class the class; 0, which is no class, on return.
 *  @return `MPI_ERR_ARG` (null `greq_class`, no live class).
 *  @note Threads: any. MPICH has no such call: there a class lives until `MPI_Finalize`. */
THENCE_EXPORT int thence_grequest_class_free(thence_grequest_class *greq_class);

/** @brief `MPI_Grequest_complete`, for programs that are not linked with libthence (but with libthence-core alone), and
 *         for other languages. In a program with libthence both are the same.
 *  @param request a generalized request that is not complete.
 *  @return what `MPI_Grequest_complete` returns.
 *  @note Threads: any. */
THENCE_EXPORT int thence_grequest_complete(MPI_Request request);

#ifdef __cplusplus
}
#endif
