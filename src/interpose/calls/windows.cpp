// SPDX-License-Identifier: BSD-3-Clause
// Calls on windows that wait for other ranks, see blocking_in_mpi.hpp.
#include "interpose/calls/blocking_in_mpi.hpp"

extern "C" {

#define CREATING(c, size_t_)                                                                                           \
    THENCE_BLOCKING_ON_PROCESSES(                                                                                      \
        Win_create##c, (void *base, MPI_Aint size, size_t_ unit, MPI_Info info, MPI_Comm comm, MPI_Win *win),          \
        (base, size, unit, info, comm, win))                                                                           \
    THENCE_BLOCKING_ON_PROCESSES(                                                                                      \
        Win_allocate##c, (MPI_Aint size, size_t_ unit, MPI_Info info, MPI_Comm comm, void *base, MPI_Win *win),        \
        (size, unit, info, comm, base, win))                                                                           \
    THENCE_BLOCKING_ON_PROCESSES(                                                                                      \
        Win_allocate_shared##c, (MPI_Aint size, size_t_ unit, MPI_Info info, MPI_Comm comm, void *base, MPI_Win *win), \
        (size, unit, info, comm, base, win))
CREATING(, int)
#if defined(THENCE_MPI_LARGE_COUNTS)
CREATING(_c, MPI_Aint)
#endif
THENCE_BLOCKING_ON_PROCESSES(Win_create_dynamic, (MPI_Info info, MPI_Comm comm, MPI_Win *win), (info, comm, win))
THENCE_BLOCKING(Win_free, (MPI_Win * win), (win))

THENCE_BLOCKING(Win_fence, (int assert, MPI_Win win), (assert, win))
THENCE_BLOCKING(Win_start, (MPI_Group group, int assert, MPI_Win win), (group, assert, win))
THENCE_BLOCKING(Win_complete, (MPI_Win win), (win))
THENCE_BLOCKING(Win_post, (MPI_Group group, int assert, MPI_Win win), (group, assert, win))
THENCE_BLOCKING(Win_wait, (MPI_Win win), (win))
THENCE_BLOCKING(Win_lock, (int type, int rank, int assert, MPI_Win win), (type, rank, assert, win))
THENCE_BLOCKING(Win_lock_all, (int assert, MPI_Win win), (assert, win))
THENCE_BLOCKING(Win_unlock, (int rank, MPI_Win win), (rank, win))
THENCE_BLOCKING(Win_unlock_all, (MPI_Win win), (win))
THENCE_BLOCKING(Win_flush, (int rank, MPI_Win win), (rank, win))
THENCE_BLOCKING(Win_flush_all, (MPI_Win win), (win))
THENCE_BLOCKING(Win_flush_local, (int rank, MPI_Win win), (rank, win))
THENCE_BLOCKING(Win_flush_local_all, (MPI_Win win), (win))

} // extern "C"
