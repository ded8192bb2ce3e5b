// SPDX-License-Identifier: BSD-3-Clause
// A second call table: what streams and enqueued operations call besides mpi::table. A test may replace its entries. Those
// with large counts are there if this MPI has them.
#pragma once

#include <mpi.h>

namespace thence::mpi {

// clang-format off
#define THENCE_MPI_STREAM_CALLS(X) \
    X(Comm_create_keyval) X(Comm_set_attr) X(Comm_get_attr) X(Comm_delete_attr) X(Comm_dup_with_info) X(Comm_free)    \
    X(Comm_set_errhandler) X(Comm_set_info) X(Comm_test_inter) X(Comm_rank) X(Comm_size) X(Allreduce) X(Info_create)  \
    X(Info_get) X(Info_set) X(Info_free) X(Info_get_nkeys) X(Info_get_nthkey) X(Grequest_start) X(Grequest_complete)  \
    X(Request_free) X(Type_size) X(Type_get_extent) X(Type_get_true_extent) X(Isend) X(Irecv)
#define THENCE_MPI_COLLECTIVES(X) \
    X(Ibarrier) X(Ibcast) X(Igather) X(Igatherv) X(Iscatter) X(Iscatterv) X(Iallgather) X(Iallgatherv)                \
    X(Ialltoall) X(Ialltoallv) X(Ialltoallw) X(Ineighbor_allgather) X(Ineighbor_allgatherv)                           \
    X(Ineighbor_alltoall) X(Ineighbor_alltoallv) X(Ineighbor_alltoallw) X(Ireduce) X(Iallreduce) X(Iscan)             \
    X(Iexscan) X(Ireduce_scatter_block) X(Ireduce_scatter)
#if defined(THENCE_MPI_LARGE_COUNTS)
#define THENCE_MPI_LARGE(X) \
    X(Isend_c) X(Irecv_c) X(Ibcast_c) X(Igather_c) X(Igatherv_c) X(Iscatter_c) X(Iscatterv_c) X(Iallgather_c)         \
    X(Iallgatherv_c) X(Ialltoall_c) X(Ialltoallv_c) X(Ialltoallw_c) X(Ineighbor_allgather_c)                          \
    X(Ineighbor_allgatherv_c) X(Ineighbor_alltoall_c) X(Ineighbor_alltoallv_c) X(Ineighbor_alltoallw_c)               \
    X(Ireduce_c) X(Iallreduce_c) X(Iscan_c) X(Iexscan_c) X(Ireduce_scatter_block_c) X(Ireduce_scatter_c)
#else
#define THENCE_MPI_LARGE(X)
#endif
// clang-format on

struct stream_calls {
#define X(name) decltype(&PMPI_##name) name;
    THENCE_MPI_STREAM_CALLS(X)
    THENCE_MPI_COLLECTIVES(X)
    THENCE_MPI_LARGE(X)
#undef X
};

extern stream_calls stream_table;

} // namespace thence::mpi
