// SPDX-License-Identifier: BSD-3-Clause
// Nonblocking collectives, which are interposed only because the communicator may be a thread communicator, or that of
// a stream. (Blocking ones are in collectives.cpp.)
#include "interpose/calls/collective_table.hpp"
#include "interpose/calls/next.hpp"
#include "interpose/calls/on_stream.hpp"
#include "interpose/calls/on_threadcomm_collectives.hpp"

#include <thence/thence.h>

#define NONBLOCKING(name, common_name, parameters, arguments)                                                          \
    THENCE_EXPORT int MPI_##name(THENCE_UNPACK parameters, MPI_Request *request) {                                     \
        if (auto *const threads = thence::threadcomm::find_if_any(comm)) [[unlikely]] {                                \
            if (request == nullptr) {                                                                                  \
                return thence::pmpi::refuse_null_request(*threads, "MPI_" #name);                                      \
            }                                                                                                          \
            thence::threadcomm::collective_call call("MPI_" #name, *threads, request);                                 \
            return thence::pmpi::on_threads::common_name(call, THENCE_UNPACK arguments);                               \
        }                                                                                                              \
        return thence::pmpi::start_on<&THENCE_NEXT(name)>("MPI_" #name, comm, request, THENCE_UNPACK arguments);       \
    }

// The nonblocking name of each.
#define I_Bcast Ibcast
#define I_Gather Igather
#define I_Gatherv Igatherv
#define I_Scatter Iscatter
#define I_Scatterv Iscatterv
#define I_Allgather Iallgather
#define I_Allgatherv Iallgatherv
#define I_Alltoall Ialltoall
#define I_Alltoallv Ialltoallv
#define I_Alltoallw Ialltoallw
#define I_Neighbor_allgather Ineighbor_allgather
#define I_Neighbor_allgatherv Ineighbor_allgatherv
#define I_Neighbor_alltoall Ineighbor_alltoall
#define I_Neighbor_alltoallv Ineighbor_alltoallv
#define I_Neighbor_alltoallw Ineighbor_alltoallw
#define I_Reduce Ireduce
#define I_Allreduce Iallreduce
#define I_Scan Iscan
#define I_Exscan Iexscan
#define I_Reduce_scatter_block Ireduce_scatter_block
#define I_Reduce_scatter Ireduce_scatter

#define PASTE_AGAIN(a, b) a##b
#define PASTE(a, b) PASTE_AGAIN(a, b)
#define WITH_INT(name, parameters, arguments) NONBLOCKING_OF(I_##name, name, parameters, arguments)
#define WITH_COUNTS(name, parameters, arguments) NONBLOCKING_OF(PASTE(I_##name, _c), name, parameters, arguments)
#define NONBLOCKING_OF(name, common_name, parameters, arguments) NONBLOCKING(name, common_name, parameters, arguments)

extern "C" {

NONBLOCKING(Ibarrier, Barrier, (MPI_Comm comm), (comm))
THENCE_COLLECTIVES(WITH_INT, int, int)
#if defined(THENCE_MPI_LARGE_COUNTS)
THENCE_COLLECTIVES(WITH_COUNTS, MPI_Count, MPI_Aint)
#endif

} // extern "C"
