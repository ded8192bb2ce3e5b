// SPDX-License-Identifier: BSD-3-Clause
// A table of the collectives that take buffers. The macro X generates one form of each: blocking or persistent, with
// counts of type int or MPI_Count. These forms of one collective differ only in the types of counts and displacements,
// and in the parameters behind the communicator.
#pragma once

#include <mpi.h>

#define THENCE_SEND(count_t) const void *sendbuf, count_t sendcount, MPI_Datatype sendtype
#define THENCE_RECV(count_t) void *recvbuf, count_t recvcount, MPI_Datatype recvtype
#define THENCE_SENDV(count_t, displ_t)                                                                                 \
    const void *sendbuf, const count_t sendcounts[], const displ_t sdispls[], MPI_Datatype sendtype
#define THENCE_RECVV(count_t, displ_t)                                                                                 \
    void *recvbuf, const count_t recvcounts[], const displ_t rdispls[], MPI_Datatype recvtype
#define THENCE_SENDW(count_t, displ_t)                                                                                 \
    const void *sendbuf, const count_t sendcounts[], const displ_t sdispls[], const MPI_Datatype sendtypes[]
#define THENCE_RECVW(count_t, displ_t)                                                                                 \
    void *recvbuf, const count_t recvcounts[], const displ_t rdispls[], const MPI_Datatype recvtypes[]
#define THENCE_REDUCE(count_t) const void *sendbuf, void *recvbuf, count_t count, MPI_Datatype type, MPI_Op op

// X(name, (parameters), (arguments)); both end with the communicator.
#define THENCE_COLLECTIVES(X, count_t, displ_t)                                                                        \
    X(Bcast, (void *buf, count_t count, MPI_Datatype type, int root, MPI_Comm comm), (buf, count, type, root, comm))   \
    X(Gather, (THENCE_SEND(count_t), THENCE_RECV(count_t), int root, MPI_Comm comm),                                   \
      (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm))                                        \
    X(Gatherv, (THENCE_SEND(count_t), THENCE_RECVV(count_t, displ_t), int root, MPI_Comm comm),                        \
      (sendbuf, sendcount, sendtype, recvbuf, recvcounts, rdispls, recvtype, root, comm))                              \
    X(Scatter, (THENCE_SEND(count_t), THENCE_RECV(count_t), int root, MPI_Comm comm),                                  \
      (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm))                                        \
    X(Scatterv, (THENCE_SENDV(count_t, displ_t), THENCE_RECV(count_t), int root, MPI_Comm comm),                       \
      (sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcount, recvtype, root, comm))                              \
    THENCE_ALL_TO_ALL(X, Allgather, Allgatherv, Alltoall, Alltoallv, Alltoallw, count_t, displ_t, displ_t)             \
    THENCE_ALL_TO_ALL(X, Neighbor_allgather, Neighbor_allgatherv, Neighbor_alltoall, Neighbor_alltoallv,               \
                      Neighbor_alltoallw, count_t, displ_t, MPI_Aint)                                                  \
    X(Reduce, (THENCE_REDUCE(count_t), int root, MPI_Comm comm), (sendbuf, recvbuf, count, type, op, root, comm))      \
    X(Allreduce, (THENCE_REDUCE(count_t), MPI_Comm comm), (sendbuf, recvbuf, count, type, op, comm))                   \
    X(Scan, (THENCE_REDUCE(count_t), MPI_Comm comm), (sendbuf, recvbuf, count, type, op, comm))                        \
    X(Exscan, (THENCE_REDUCE(count_t), MPI_Comm comm), (sendbuf, recvbuf, count, type, op, comm))                      \
    X(Reduce_scatter_block, (THENCE_REDUCE(count_t), MPI_Comm comm), (sendbuf, recvbuf, count, type, op, comm))        \
    X(Reduce_scatter,                                                                                                  \
      (const void *sendbuf, void *recvbuf, const count_t recvcounts[], MPI_Datatype type, MPI_Op op, MPI_Comm comm),   \
      (sendbuf, recvbuf, recvcounts, type, op, comm))

// The collectives that also exist as neighborhood collectives. There, the form with a type per neighbor has
// displacements that are addresses.
#define THENCE_ALL_TO_ALL(X, allgather, allgatherv, alltoall, alltoallv, alltoallw, count_t, displ_t, displ_w)         \
    X(allgather, (THENCE_SEND(count_t), THENCE_RECV(count_t), MPI_Comm comm),                                          \
      (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm))                                              \
    X(allgatherv, (THENCE_SEND(count_t), THENCE_RECVV(count_t, displ_t), MPI_Comm comm),                               \
      (sendbuf, sendcount, sendtype, recvbuf, recvcounts, rdispls, recvtype, comm))                                    \
    X(alltoall, (THENCE_SEND(count_t), THENCE_RECV(count_t), MPI_Comm comm),                                           \
      (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm))                                              \
    X(alltoallv, (THENCE_SENDV(count_t, displ_t), THENCE_RECVV(count_t, displ_t), MPI_Comm comm),                      \
      (sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, comm))                          \
    X(alltoallw, (THENCE_SENDW(count_t, displ_w), THENCE_RECVW(count_t, displ_w), MPI_Comm comm),                      \
      (sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes, comm))

// The nonblocking name of each.
#define THENCE_I_Bcast Ibcast
#define THENCE_I_Gather Igather
#define THENCE_I_Gatherv Igatherv
#define THENCE_I_Scatter Iscatter
#define THENCE_I_Scatterv Iscatterv
#define THENCE_I_Allgather Iallgather
#define THENCE_I_Allgatherv Iallgatherv
#define THENCE_I_Alltoall Ialltoall
#define THENCE_I_Alltoallv Ialltoallv
#define THENCE_I_Alltoallw Ialltoallw
#define THENCE_I_Neighbor_allgather Ineighbor_allgather
#define THENCE_I_Neighbor_allgatherv Ineighbor_allgatherv
#define THENCE_I_Neighbor_alltoall Ineighbor_alltoall
#define THENCE_I_Neighbor_alltoallv Ineighbor_alltoallv
#define THENCE_I_Neighbor_alltoallw Ineighbor_alltoallw
#define THENCE_I_Reduce Ireduce
#define THENCE_I_Allreduce Iallreduce
#define THENCE_I_Scan Iscan
#define THENCE_I_Exscan Iexscan
#define THENCE_I_Reduce_scatter_block Ireduce_scatter_block
#define THENCE_I_Reduce_scatter Ireduce_scatter
#define THENCE_I_Barrier Ibarrier

#define THENCE_PASTE_AGAIN(a, b) a##b
#define THENCE_PASTE(a, b) THENCE_PASTE_AGAIN(a, b)
