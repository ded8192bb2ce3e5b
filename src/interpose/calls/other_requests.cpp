// SPDX-License-Identifier: BSD-3-Clause
// Calls that start an operation on a window, or a generalized request, and create a request (THENCE_STARTING).
#include "interpose/calls/next.hpp"
#include "interpose/calls/on_stream.hpp"
#include "interpose/calls/on_threadcomm.hpp"

#include <thence/thence.h>

#define ORIGIN(count_t) const void *origin, count_t count, MPI_Datatype type
#define TARGET(count_t) int rank, MPI_Aint displacement, count_t target_count, MPI_Datatype target_type

extern "C" {

THENCE_STARTING(Grequest_start,
                (MPI_Grequest_query_function * query, MPI_Grequest_free_function *free_fn,
                 MPI_Grequest_cancel_function *cancel, void *state),
                (query, free_fn, cancel, state))

#define WINDOWS(c, count_t)                                                                                            \
    THENCE_STARTING(Rput##c, (ORIGIN(count_t), TARGET(count_t), MPI_Win win),                                          \
                    (origin, count, type, rank, displacement, target_count, target_type, win))                         \
    THENCE_STARTING(Rget##c, (void *origin, count_t count, MPI_Datatype type, TARGET(count_t), MPI_Win win),           \
                    (origin, count, type, rank, displacement, target_count, target_type, win))                         \
    THENCE_STARTING(Raccumulate##c, (ORIGIN(count_t), TARGET(count_t), MPI_Op op, MPI_Win win),                        \
                    (origin, count, type, rank, displacement, target_count, target_type, op, win))                     \
    THENCE_STARTING(Rget_accumulate##c,                                                                                \
                    (ORIGIN(count_t), void *result, count_t result_count, MPI_Datatype result_type, TARGET(count_t),   \
                     MPI_Op op, MPI_Win win),                                                                          \
                    (origin, count, type, result, result_count, result_type, rank, displacement, target_count,         \
                     target_type, op, win))
WINDOWS(, int)
#if defined(THENCE_MPI_LARGE_COUNTS)
WINDOWS(_c, MPI_Count)
#endif

} // extern "C"
