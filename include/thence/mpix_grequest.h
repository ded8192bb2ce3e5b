/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/** @file mpix_grequest.h
 *  @brief Generalized requests whose wait function has either form that is in use. Include thence/mpix.h, which gives
 *         MPICH's names to these functions.
 *
 *  In MPICH's header the second parameter of a wait function is `void **array_of_states`; in the paper (Zhou et al.,
 *  "Designing and Prototyping Extensions to MPI in MPICH") it is `void *array_of_states`. The argument is the same: the
 *  address of the first of `count` states. Every platform of MPI passes both kinds of pointers alike. */

#include <thence/grequest.h>

/** @brief A wait function as the paper declares it.
 *  @param count           number of requests, at least 1.
 *  @param array_of_states the address of an array of `count` pointers, the `extra_state` of each request.
 *  @param timeout         as for ::thence_grequest_wait_function; so is `status`.
 *  @return as ::thence_grequest_wait_function. */
typedef int(thence_mpix_grequest_wait_fn)(int count, void *array_of_states, double timeout, MPI_Status *status);

#ifdef __cplusplus

/** @brief thence_grequest_start(). */
inline int thence_mpix_grequest_start(MPI_Grequest_query_function *query_fn, MPI_Grequest_free_function *free_fn,
                                      MPI_Grequest_cancel_function *cancel_fn, thence_grequest_poll_function *poll_fn,
                                      thence_grequest_wait_function *wait_fn, void *extra_state, MPI_Request *request) {
    return thence_grequest_start(query_fn, free_fn, cancel_fn, poll_fn, wait_fn, extra_state, request);
}
/* A template, so that only a function of this form selects it, and not a null pointer. */
template <class Status>
int thence_mpix_grequest_start(MPI_Grequest_query_function *query_fn, MPI_Grequest_free_function *free_fn,
                               MPI_Grequest_cancel_function *cancel_fn, thence_grequest_poll_function *poll_fn,
                               int (*wait_fn)(int, void *, double, Status *), void *extra_state, MPI_Request *request) {
    return thence_grequest_start(query_fn, free_fn, cancel_fn, poll_fn,
                                 reinterpret_cast<thence_grequest_wait_function *>(wait_fn), extra_state, request);
}

/** @brief thence_grequest_class_create(). */
inline int thence_mpix_grequest_class_create(MPI_Grequest_query_function *query_fn, MPI_Grequest_free_function *free_fn,
                                             MPI_Grequest_cancel_function *cancel_fn,
                                             thence_grequest_poll_function *poll_fn,
                                             thence_grequest_wait_function *wait_fn,
                                             thence_grequest_class *greq_class) {
    return thence_grequest_class_create(query_fn, free_fn, cancel_fn, poll_fn, wait_fn, greq_class);
}
template <class Status>
int thence_mpix_grequest_class_create(MPI_Grequest_query_function *query_fn, MPI_Grequest_free_function *free_fn,
                                      MPI_Grequest_cancel_function *cancel_fn, thence_grequest_poll_function *poll_fn,
                                      int (*wait_fn)(int, void *, double, Status *),
                                      thence_grequest_class *greq_class) {
    return thence_grequest_class_create(query_fn, free_fn, cancel_fn, poll_fn,
                                        reinterpret_cast<thence_grequest_wait_function *>(wait_fn), greq_class);
}

#else

/** @brief thence_grequest_start(). */
static inline int thence_mpix_grequest_start(MPI_Grequest_query_function *query_fn, MPI_Grequest_free_function *free_fn,
                                             MPI_Grequest_cancel_function *cancel_fn,
                                             thence_grequest_poll_function *poll_fn,
                                             thence_grequest_wait_function *wait_fn, void *extra_state,
                                             MPI_Request *request) {
    return thence_grequest_start(query_fn, free_fn, cancel_fn, poll_fn, wait_fn, extra_state, request);
}

/** @brief thence_grequest_class_create(). */
static inline int
thence_mpix_grequest_class_create(MPI_Grequest_query_function *query_fn, MPI_Grequest_free_function *free_fn,
                                  MPI_Grequest_cancel_function *cancel_fn, thence_grequest_poll_function *poll_fn,
                                  thence_grequest_wait_function *wait_fn, thence_grequest_class *greq_class) {
    return thence_grequest_class_create(query_fn, free_fn, cancel_fn, poll_fn, wait_fn, greq_class);
}

/* A call is a macro, so that the wait function may have either form. The address is that of a function above. */
#define THENCE_MPIX_WAIT_FUNCTION(wait_fn)                                                                             \
    _Generic((wait_fn), thence_mpix_grequest_wait_fn *                                                                 \
             : (thence_grequest_wait_function *)(wait_fn), default                                                     \
             : (wait_fn))
#define thence_mpix_grequest_start(query_fn, free_fn, cancel_fn, poll_fn, wait_fn, extra_state, request)               \
    thence_grequest_start(query_fn, free_fn, cancel_fn, poll_fn, THENCE_MPIX_WAIT_FUNCTION(wait_fn), extra_state,      \
                          request)
#define thence_mpix_grequest_class_create(query_fn, free_fn, cancel_fn, poll_fn, wait_fn, greq_class)                  \
    thence_grequest_class_create(query_fn, free_fn, cancel_fn, poll_fn, THENCE_MPIX_WAIT_FUNCTION(wait_fn), greq_class)

#endif
