// SPDX-License-Identifier: BSD-3-Clause
// Blocking collectives. Only a blocking call matches a blocking call of the other ranks, so inside a callback it cannot
// be replaced by tests: it is assisted instead, by progress from another thread for as long as it lasts.
#include "continuation/interposing.hpp"

#include <thence/thence.h>

using namespace thence::continuation;

extern "C" {

#define COLLECTIVE(name, parameters, arguments)                                                                        \
    THENCE_EXPORT int MPI_##name parameters {                                                                          \
        if (attention.load(std::memory_order_relaxed) == 0) [[likely]] {                                               \
            return PMPI_##name arguments;                                                                              \
        }                                                                                                              \
        const assistance helped;                                                                                       \
        const int code = PMPI_##name arguments;                                                                        \
        catch_up();                                                                                                    \
        return code;                                                                                                   \
    }

#define SEND const void *sendbuf, int sendcount, MPI_Datatype sendtype
#define SENDV const void *sendbuf, const int sendcounts[], const int sdispls[], MPI_Datatype sendtype
#define RECV void *recvbuf, int recvcount, MPI_Datatype recvtype
#define RECVV void *recvbuf, const int recvcounts[], const int rdispls[], MPI_Datatype recvtype
#define REDUCE const void *sendbuf, void *recvbuf, int count, MPI_Datatype type, MPI_Op op

COLLECTIVE(Barrier, (MPI_Comm comm), (comm))
COLLECTIVE(Bcast, (void *buf, int count, MPI_Datatype type, int root, MPI_Comm comm), (buf, count, type, root, comm))
COLLECTIVE(Gather, (SEND, RECV, int root, MPI_Comm comm),
           (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm))
COLLECTIVE(Gatherv, (SEND, RECVV, int root, MPI_Comm comm),
           (sendbuf, sendcount, sendtype, recvbuf, recvcounts, rdispls, recvtype, root, comm))
COLLECTIVE(Scatter, (SEND, RECV, int root, MPI_Comm comm),
           (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm))
COLLECTIVE(Scatterv, (SENDV, RECV, int root, MPI_Comm comm),
           (sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcount, recvtype, root, comm))
COLLECTIVE(Allgather, (SEND, RECV, MPI_Comm comm), (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm))
COLLECTIVE(Allgatherv, (SEND, RECVV, MPI_Comm comm),
           (sendbuf, sendcount, sendtype, recvbuf, recvcounts, rdispls, recvtype, comm))
COLLECTIVE(Alltoall, (SEND, RECV, MPI_Comm comm), (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm))
COLLECTIVE(Alltoallv, (SENDV, RECVV, MPI_Comm comm),
           (sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, comm))
COLLECTIVE(Reduce, (REDUCE, int root, MPI_Comm comm), (sendbuf, recvbuf, count, type, op, root, comm))
COLLECTIVE(Allreduce, (REDUCE, MPI_Comm comm), (sendbuf, recvbuf, count, type, op, comm))
COLLECTIVE(Scan, (REDUCE, MPI_Comm comm), (sendbuf, recvbuf, count, type, op, comm))
COLLECTIVE(Exscan, (REDUCE, MPI_Comm comm), (sendbuf, recvbuf, count, type, op, comm))
COLLECTIVE(Reduce_scatter_block, (REDUCE, MPI_Comm comm), (sendbuf, recvbuf, count, type, op, comm))
COLLECTIVE(Reduce_scatter,
           (const void *sendbuf, void *recvbuf, const int recvcounts[], MPI_Datatype type, MPI_Op op, MPI_Comm comm),
           (sendbuf, recvbuf, recvcounts, type, op, comm))
COLLECTIVE(Comm_dup, (MPI_Comm comm, MPI_Comm *created), (comm, created))
COLLECTIVE(Comm_split, (MPI_Comm comm, int color, int key, MPI_Comm *created), (comm, color, key, created))
COLLECTIVE(Comm_free, (MPI_Comm * comm), (comm))
COLLECTIVE(Win_fence, (int assert, MPI_Win win), (assert, win))

} // extern "C"
