// SPDX-License-Identifier: BSD-3-Clause
// Calls that start an operation on a window or a file, or a generalized request, and create a request. They are
// interposed only because their operations are counted (core/progress/plain_operations.hpp).
#include "interpose/calls/next.hpp"
#include "interpose/calls/on_stream.hpp"
#include "interpose/calls/on_threadcomm.hpp"

#include <thence/thence.h>

#define STARTING(name, parameters, arguments)                                                                          \
    THENCE_EXPORT int MPI_##name(THENCE_UNPACK parameters, MPI_Request *request) {                                     \
        return thence::pmpi::start_on<&THENCE_NEXT(name)>("MPI_" #name, MPI_COMM_NULL, request,                        \
                                                          THENCE_UNPACK arguments);                                    \
    }

#define ORIGIN(count_t) const void *origin, count_t count, MPI_Datatype type
#define TARGET(count_t) int rank, MPI_Aint displacement, count_t target_count, MPI_Datatype target_type

extern "C" {

STARTING(Grequest_start,
         (MPI_Grequest_query_function * query, MPI_Grequest_free_function *free_fn,
          MPI_Grequest_cancel_function *cancel, void *state),
         (query, free_fn, cancel, state))

#define WINDOWS(c, count_t)                                                                                            \
    STARTING(Rput##c, (ORIGIN(count_t), TARGET(count_t), MPI_Win win),                                                 \
             (origin, count, type, rank, displacement, target_count, target_type, win))                                \
    STARTING(Rget##c, (void *origin, count_t count, MPI_Datatype type, TARGET(count_t), MPI_Win win),                  \
             (origin, count, type, rank, displacement, target_count, target_type, win))                                \
    STARTING(Raccumulate##c, (ORIGIN(count_t), TARGET(count_t), MPI_Op op, MPI_Win win),                               \
             (origin, count, type, rank, displacement, target_count, target_type, op, win))                            \
    STARTING(Rget_accumulate##c,                                                                                       \
             (ORIGIN(count_t), void *result, count_t result_count, MPI_Datatype result_type, TARGET(count_t),          \
              MPI_Op op, MPI_Win win),                                                                                 \
             (origin, count, type, result, result_count, result_type, rank, displacement, target_count, target_type,   \
              op, win))
WINDOWS(, int)
#if defined(THENCE_MPI_LARGE_COUNTS)
WINDOWS(_c, MPI_Count)
#endif

#if defined(THENCE_MPI_FILES)

#define TRANSFER(name, buffer, count_t)                                                                                \
    STARTING(File_##name, (MPI_File file, buffer buf, count_t count, MPI_Datatype type), (file, buf, count, type))
#define TRANSFER_AT(name, buffer, count_t)                                                                             \
    STARTING(File_##name, (MPI_File file, MPI_Offset offset, buffer buf, count_t count, MPI_Datatype type),            \
             (file, offset, buf, count, type))
#define FILES(c, count_t)                                                                                              \
    TRANSFER(iread##c, void *, count_t)                                                                                \
    TRANSFER(iwrite##c, const void *, count_t)                                                                         \
    TRANSFER(iread_all##c, void *, count_t)                                                                            \
    TRANSFER(iwrite_all##c, const void *, count_t)                                                                     \
    TRANSFER(iread_shared##c, void *, count_t)                                                                         \
    TRANSFER(iwrite_shared##c, const void *, count_t)                                                                  \
    TRANSFER_AT(iread_at##c, void *, count_t)                                                                          \
    TRANSFER_AT(iwrite_at##c, const void *, count_t)                                                                   \
    TRANSFER_AT(iread_at_all##c, void *, count_t)                                                                      \
    TRANSFER_AT(iwrite_at_all##c, const void *, count_t)
FILES(, int)
#if defined(THENCE_MPI_LARGE_COUNTS)
FILES(_c, MPI_Count)
#endif

#endif

} // extern "C"
