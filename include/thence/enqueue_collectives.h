/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/** @file enqueue_collectives.h
 *  @brief Collective operations in the order of a queue. `enqueue.h`, which includes this header, says how they behave.
 *
 *  The arguments are those of MPI's nonblocking collective without the request. All processes of `comm` call it, and on
 *  each the operation begins in the order of its own queue. Calls on one communicator are enqueued in the same order by
 *  all of them.
 *
 *  The forms with large counts need an MPI that has them. Elsewhere a single count has to fit an `int`
 *  (`MPI_ERR_COUNT`), and those with arrays of counts return `MPI_ERR_UNSUPPORTED_OPERATION`.
 *
 *  If MPI does not take buffers in device memory, those of the collectives without arrays of counts or neighbors are
 *  copied to host memory and back. The others return `MPI_ERR_UNSUPPORTED_OPERATION` for such buffers. */

#include <thence/stream.h>

#ifdef __cplusplus
extern "C" {
#endif

/** @brief Enqueue a barrier, as MPI_Ibarrier: the queue goes on when the queues of all processes have reached it. */
THENCE_EXPORT int thence_barrier_enqueue(MPI_Comm comm);

/** @brief Enqueue an MPI_Ibcast. */
THENCE_EXPORT int thence_bcast_enqueue(void *buf, int count, MPI_Datatype datatype, int root, MPI_Comm comm);
/** @brief The same with large counts. */
THENCE_EXPORT int thence_bcast_enqueue_c(void *buf, MPI_Count count, MPI_Datatype datatype, int root, MPI_Comm comm);
/** @brief Enqueue an MPI_Igather. */
THENCE_EXPORT int thence_gather_enqueue(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf,
                                        int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm);
/** @brief The same with large counts. */
THENCE_EXPORT int thence_gather_enqueue_c(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                                          void *recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, int root,
                                          MPI_Comm comm);
/** @brief Enqueue an MPI_Igatherv. */
THENCE_EXPORT int thence_gatherv_enqueue(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf,
                                         const int recvcounts[], const int rdispls[], MPI_Datatype recvtype, int root,
                                         MPI_Comm comm);
/** @brief The same with large counts. */
THENCE_EXPORT int thence_gatherv_enqueue_c(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                                           void *recvbuf, const MPI_Count recvcounts[], const MPI_Aint rdispls[],
                                           MPI_Datatype recvtype, int root, MPI_Comm comm);
/** @brief Enqueue an MPI_Iscatter. */
THENCE_EXPORT int thence_scatter_enqueue(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf,
                                         int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm);
/** @brief The same with large counts. */
THENCE_EXPORT int thence_scatter_enqueue_c(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                                           void *recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, int root,
                                           MPI_Comm comm);
/** @brief Enqueue an MPI_Iscatterv. */
THENCE_EXPORT int thence_scatterv_enqueue(const void *sendbuf, const int sendcounts[], const int sdispls[],
                                          MPI_Datatype sendtype, void *recvbuf, int recvcount, MPI_Datatype recvtype,
                                          int root, MPI_Comm comm);
/** @brief The same with large counts. */
THENCE_EXPORT int thence_scatterv_enqueue_c(const void *sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[],
                                            MPI_Datatype sendtype, void *recvbuf, MPI_Count recvcount,
                                            MPI_Datatype recvtype, int root, MPI_Comm comm);
/** @brief Enqueue an MPI_Iallgather. */
THENCE_EXPORT int thence_allgather_enqueue(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf,
                                           int recvcount, MPI_Datatype recvtype, MPI_Comm comm);
/** @brief The same with large counts. */
THENCE_EXPORT int thence_allgather_enqueue_c(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                                             void *recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm);
/** @brief Enqueue an MPI_Iallgatherv. */
THENCE_EXPORT int thence_allgatherv_enqueue(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf,
                                            const int recvcounts[], const int rdispls[], MPI_Datatype recvtype,
                                            MPI_Comm comm);
/** @brief The same with large counts. */
THENCE_EXPORT int thence_allgatherv_enqueue_c(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                                              void *recvbuf, const MPI_Count recvcounts[], const MPI_Aint rdispls[],
                                              MPI_Datatype recvtype, MPI_Comm comm);
/** @brief Enqueue an MPI_Ialltoall. */
THENCE_EXPORT int thence_alltoall_enqueue(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf,
                                          int recvcount, MPI_Datatype recvtype, MPI_Comm comm);
/** @brief The same with large counts. */
THENCE_EXPORT int thence_alltoall_enqueue_c(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                                            void *recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm);
/** @brief Enqueue an MPI_Ialltoallv. */
THENCE_EXPORT int thence_alltoallv_enqueue(const void *sendbuf, const int sendcounts[], const int sdispls[],
                                           MPI_Datatype sendtype, void *recvbuf, const int recvcounts[],
                                           const int rdispls[], MPI_Datatype recvtype, MPI_Comm comm);
/** @brief The same with large counts. */
THENCE_EXPORT int thence_alltoallv_enqueue_c(const void *sendbuf, const MPI_Count sendcounts[],
                                             const MPI_Aint sdispls[], MPI_Datatype sendtype, void *recvbuf,
                                             const MPI_Count recvcounts[], const MPI_Aint rdispls[],
                                             MPI_Datatype recvtype, MPI_Comm comm);
/** @brief Enqueue an MPI_Ialltoallw. */
THENCE_EXPORT int thence_alltoallw_enqueue(const void *sendbuf, const int sendcounts[], const int sdispls[],
                                           const MPI_Datatype sendtypes[], void *recvbuf, const int recvcounts[],
                                           const int rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm);
/** @brief The same with large counts. */
THENCE_EXPORT int thence_alltoallw_enqueue_c(const void *sendbuf, const MPI_Count sendcounts[],
                                             const MPI_Aint sdispls[], const MPI_Datatype sendtypes[], void *recvbuf,
                                             const MPI_Count recvcounts[], const MPI_Aint rdispls[],
                                             const MPI_Datatype recvtypes[], MPI_Comm comm);
/** @brief Enqueue an MPI_Ineighbor_allgather. */
THENCE_EXPORT int thence_neighbor_allgather_enqueue(const void *sendbuf, int sendcount, MPI_Datatype sendtype,
                                                    void *recvbuf, int recvcount, MPI_Datatype recvtype, MPI_Comm comm);
/** @brief The same with large counts. */
THENCE_EXPORT int thence_neighbor_allgather_enqueue_c(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                                                      void *recvbuf, MPI_Count recvcount, MPI_Datatype recvtype,
                                                      MPI_Comm comm);
/** @brief Enqueue an MPI_Ineighbor_allgatherv. */
THENCE_EXPORT int thence_neighbor_allgatherv_enqueue(const void *sendbuf, int sendcount, MPI_Datatype sendtype,
                                                     void *recvbuf, const int recvcounts[], const int rdispls[],
                                                     MPI_Datatype recvtype, MPI_Comm comm);
/** @brief The same with large counts. */
THENCE_EXPORT int thence_neighbor_allgatherv_enqueue_c(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                                                       void *recvbuf, const MPI_Count recvcounts[],
                                                       const MPI_Aint rdispls[], MPI_Datatype recvtype, MPI_Comm comm);
/** @brief Enqueue an MPI_Ineighbor_alltoall. */
THENCE_EXPORT int thence_neighbor_alltoall_enqueue(const void *sendbuf, int sendcount, MPI_Datatype sendtype,
                                                   void *recvbuf, int recvcount, MPI_Datatype recvtype, MPI_Comm comm);
/** @brief The same with large counts. */
THENCE_EXPORT int thence_neighbor_alltoall_enqueue_c(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                                                     void *recvbuf, MPI_Count recvcount, MPI_Datatype recvtype,
                                                     MPI_Comm comm);
/** @brief Enqueue an MPI_Ineighbor_alltoallv. */
THENCE_EXPORT int thence_neighbor_alltoallv_enqueue(const void *sendbuf, const int sendcounts[], const int sdispls[],
                                                    MPI_Datatype sendtype, void *recvbuf, const int recvcounts[],
                                                    const int rdispls[], MPI_Datatype recvtype, MPI_Comm comm);
/** @brief The same with large counts. */
THENCE_EXPORT int thence_neighbor_alltoallv_enqueue_c(const void *sendbuf, const MPI_Count sendcounts[],
                                                      const MPI_Aint sdispls[], MPI_Datatype sendtype, void *recvbuf,
                                                      const MPI_Count recvcounts[], const MPI_Aint rdispls[],
                                                      MPI_Datatype recvtype, MPI_Comm comm);
/** @brief Enqueue an MPI_Ineighbor_alltoallw. */
THENCE_EXPORT int thence_neighbor_alltoallw_enqueue(const void *sendbuf, const int sendcounts[],
                                                    const MPI_Aint sdispls[], const MPI_Datatype sendtypes[],
                                                    void *recvbuf, const int recvcounts[], const MPI_Aint rdispls[],
                                                    const MPI_Datatype recvtypes[], MPI_Comm comm);
/** @brief The same with large counts. */
THENCE_EXPORT int thence_neighbor_alltoallw_enqueue_c(const void *sendbuf, const MPI_Count sendcounts[],
                                                      const MPI_Aint sdispls[], const MPI_Datatype sendtypes[],
                                                      void *recvbuf, const MPI_Count recvcounts[],
                                                      const MPI_Aint rdispls[], const MPI_Datatype recvtypes[],
                                                      MPI_Comm comm);
/** @brief Enqueue an MPI_Ireduce. */
THENCE_EXPORT int thence_reduce_enqueue(const void *sendbuf, void *recvbuf, int count, MPI_Datatype datatype, MPI_Op op,
                                        int root, MPI_Comm comm);
/** @brief The same with large counts. */
THENCE_EXPORT int thence_reduce_enqueue_c(const void *sendbuf, void *recvbuf, MPI_Count count, MPI_Datatype datatype,
                                          MPI_Op op, int root, MPI_Comm comm);
/** @brief Enqueue an MPI_Iallreduce. Source: MPICH 5, `MPIX_Allreduce_enqueue`. */
THENCE_EXPORT int thence_allreduce_enqueue(const void *sendbuf, void *recvbuf, int count, MPI_Datatype datatype,
                                           MPI_Op op, MPI_Comm comm);
/** @brief The same with large counts. */
THENCE_EXPORT int thence_allreduce_enqueue_c(const void *sendbuf, void *recvbuf, MPI_Count count, MPI_Datatype datatype,
                                             MPI_Op op, MPI_Comm comm);
/** @brief Enqueue an MPI_Iscan. */
THENCE_EXPORT int thence_scan_enqueue(const void *sendbuf, void *recvbuf, int count, MPI_Datatype datatype, MPI_Op op,
                                      MPI_Comm comm);
/** @brief The same with large counts. */
THENCE_EXPORT int thence_scan_enqueue_c(const void *sendbuf, void *recvbuf, MPI_Count count, MPI_Datatype datatype,
                                        MPI_Op op, MPI_Comm comm);
/** @brief Enqueue an MPI_Iexscan. */
THENCE_EXPORT int thence_exscan_enqueue(const void *sendbuf, void *recvbuf, int count, MPI_Datatype datatype, MPI_Op op,
                                        MPI_Comm comm);
/** @brief The same with large counts. */
THENCE_EXPORT int thence_exscan_enqueue_c(const void *sendbuf, void *recvbuf, MPI_Count count, MPI_Datatype datatype,
                                          MPI_Op op, MPI_Comm comm);
/** @brief Enqueue an MPI_Ireduce_scatter_block. */
THENCE_EXPORT int thence_reduce_scatter_block_enqueue(const void *sendbuf, void *recvbuf, int recvcount,
                                                      MPI_Datatype datatype, MPI_Op op, MPI_Comm comm);
/** @brief The same with large counts. */
THENCE_EXPORT int thence_reduce_scatter_block_enqueue_c(const void *sendbuf, void *recvbuf, MPI_Count recvcount,
                                                        MPI_Datatype datatype, MPI_Op op, MPI_Comm comm);
/** @brief Enqueue an MPI_Ireduce_scatter. */
THENCE_EXPORT int thence_reduce_scatter_enqueue(const void *sendbuf, void *recvbuf, const int recvcounts[],
                                                MPI_Datatype datatype, MPI_Op op, MPI_Comm comm);
/** @brief The same with large counts. */
THENCE_EXPORT int thence_reduce_scatter_enqueue_c(const void *sendbuf, void *recvbuf, const MPI_Count recvcounts[],
                                                  MPI_Datatype datatype, MPI_Op op, MPI_Comm comm);

#ifdef __cplusplus
}
#endif
