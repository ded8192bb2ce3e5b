// SPDX-License-Identifier: BSD-3-Clause
// Collectives that MPI refuses, in every form: blocking, persistent, and each with large counts.
#include "table.hpp"

namespace wrong_arguments {

namespace {

// For one rank, and for its two neighbors in the ring: itself.
template <class Count, class Displacement> struct vectors {
    Count counts[2] = {1, 1};
    Displacement displacements[2] = {0, 0};
};
template <class Count, class Displacement> vectors<Count, Displacement> all;
MPI_Aint addresses[2] = {0, 0};
MPI_Datatype types[2];
MPI_Op operation = MPI_OP_NULL;

} // namespace

#define SENT pointer(w.in), count(one), type()
#define RECEIVED pointer(w.out), count(one), type()
#define SENT_V pointer(w.in), pointer(v.counts), pointer(v.displacements), type()
#define RECEIVED_V pointer(w.out), pointer(v.counts), pointer(v.displacements), type()
#define SENT_W(d) pointer(w.in), pointer(v.counts), pointer(d), pointer(types)
#define RECEIVED_W(d) pointer(w.out), pointer(v.counts), pointer(d), pointer(types)
#define REDUCED pointer(w.in), pointer(w.out), count(one), type(), op()

// The parameters: the end of the name, and the arguments after the communicator.
#define COLLECTIVES(form, ...)                                                                                         \
    TRIED(Bcast##form, pointer(w.in), count(one), type(), rank(), comm(w.comm) __VA_ARGS__);                           \
    TRIED(Gather##form, SENT, RECEIVED, rank(), comm(w.comm) __VA_ARGS__);                                             \
    TRIED(Gatherv##form, SENT, RECEIVED_V, rank(), comm(w.comm) __VA_ARGS__);                                          \
    TRIED(Scatter##form, SENT, RECEIVED, rank(), comm(w.comm) __VA_ARGS__);                                            \
    TRIED(Scatterv##form, SENT_V, RECEIVED, rank(), comm(w.comm) __VA_ARGS__);                                         \
    TRIED(Allgather##form, SENT, RECEIVED, comm(w.comm) __VA_ARGS__);                                                  \
    TRIED(Allgatherv##form, SENT, RECEIVED_V, comm(w.comm) __VA_ARGS__);                                               \
    TRIED(Alltoall##form, SENT, RECEIVED, comm(w.comm) __VA_ARGS__);                                                   \
    TRIED(Alltoallv##form, SENT_V, RECEIVED_V, comm(w.comm) __VA_ARGS__);                                              \
    TRIED(Alltoallw##form, SENT_W(v.displacements), RECEIVED_W(v.displacements), comm(w.comm) __VA_ARGS__);            \
    TRIED(Neighbor_allgather##form, SENT, RECEIVED, comm(w.ring) __VA_ARGS__);                                         \
    TRIED(Neighbor_allgatherv##form, SENT, RECEIVED_V, comm(w.ring) __VA_ARGS__);                                      \
    TRIED(Neighbor_alltoall##form, SENT, RECEIVED, comm(w.ring) __VA_ARGS__);                                          \
    TRIED(Neighbor_alltoallv##form, SENT_V, RECEIVED_V, comm(w.ring) __VA_ARGS__);                                     \
    TRIED(Neighbor_alltoallw##form, SENT_W(addresses), RECEIVED_W(addresses), comm(w.ring) __VA_ARGS__);               \
    TRIED(Reduce##form, REDUCED, rank(), comm(w.comm) __VA_ARGS__);                                                    \
    TRIED(Allreduce##form, REDUCED, comm(w.comm) __VA_ARGS__);                                                         \
    TRIED(Scan##form, REDUCED, comm(w.comm) __VA_ARGS__);                                                              \
    TRIED(Exscan##form, REDUCED, comm(w.comm) __VA_ARGS__);                                                            \
    TRIED(Reduce_scatter_block##form, REDUCED, comm(w.comm) __VA_ARGS__);                                              \
    TRIED(Reduce_scatter##form, pointer(w.in), pointer(w.out), pointer(v.counts), type(), op(),                        \
          comm(w.comm) __VA_ARGS__)

void add_collectives(table &to, world &w) {
    types[0] = types[1] = MPI_INT;
    TRIED(Barrier, comm(w.comm));
    WRONG(Op_free, pointer(&operation));
    to.add_call({"MPI_Op_free", "null operation", true, true, [](bool pmpi) {
                     operation = MPI_OP_NULL;
                     return (pmpi ? &PMPI_Op_free : &MPI_Op_free)(&operation);
                 }});
    to.add_call({"MPI_Op_free", "operation of MPI's", true, true, [](bool pmpi) {
                     operation = MPI_SUM;
                     return (pmpi ? &PMPI_Op_free : &MPI_Op_free)(&operation);
                 }});
    {
        auto &v = all<int, int>;
        const int one = 1;
        COLLECTIVES();
#if defined(THENCE_MPI_PERSISTENT_COLLECTIVES)
        TRIED(Barrier_init, comm(w.comm), fixed(MPI_Info{MPI_INFO_NULL}), pointer(w.requests));
        COLLECTIVES(_init, , fixed(MPI_Info{MPI_INFO_NULL}), pointer(w.requests));
#endif
    }
#if defined(THENCE_MPI_LARGE_COUNTS)
    auto &v = all<MPI_Count, MPI_Aint>;
    const MPI_Count one = 1;
    COLLECTIVES(_c);
    COLLECTIVES(_init_c, , fixed(MPI_Info{MPI_INFO_NULL}), pointer(w.requests));
#endif
}

} // namespace wrong_arguments
