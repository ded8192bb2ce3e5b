// SPDX-License-Identifier: BSD-3-Clause
// Calls that are interposed only because their communicator may be a thread communicator: with wrong arguments.
// Nonblocking ones are not tried with right ones, since nothing here would complete them.
#include "table.hpp"

namespace wrong_arguments {

namespace {

template <class Count, class Displacement> struct vectors {
    Count counts[2] = {1, 1};
    Displacement displacements[2] = {0, 0};
};
template <class Count, class Displacement> vectors<Count, Displacement> all;
MPI_Aint addresses[2] = {0, 0};
MPI_Datatype types[2];

} // namespace

#define MESSAGE(name, n) WRONG(name, pointer(w.in), count(n), type(), rank(), tag(9), comm(w.comm), pointer(w.requests))
#define MESSAGES(c, n)                                                                                                 \
    MESSAGE(Isend##c, n);                                                                                              \
    MESSAGE(Issend##c, n);                                                                                             \
    MESSAGE(Irsend##c, n);                                                                                             \
    MESSAGE(Ibsend##c, n);                                                                                             \
    MESSAGE(Irecv##c, n);                                                                                              \
    WRONG(Bsend##c, pointer(w.in), count(n), type(), rank(), tag(9), comm(w.comm));                                    \
    WRONG(Imrecv##c, pointer(w.out), count(n), type(), pointer(&w.message), pointer(w.requests))

#define BOTH_WAYS(c, n)                                                                                                \
    WRONG(Isendrecv##c, pointer(w.in), count(n), type(), rank(), tag(9), pointer(w.out), count(n), type(), rank(),     \
          tag(9), comm(w.comm), pointer(w.requests));                                                                  \
    WRONG(Isendrecv_replace##c, pointer(w.in), count(n), type(), rank(), tag(9), rank(), tag(9), comm(w.comm),         \
          pointer(w.requests))

#define SENT pointer(w.in), count(one), type()
#define RECEIVED pointer(w.out), count(one), type()
#define SENT_V pointer(w.in), pointer(v.counts), pointer(v.displacements), type()
#define RECEIVED_V pointer(w.out), pointer(v.counts), pointer(v.displacements), type()
#define SENT_W(d) pointer(w.in), pointer(v.counts), pointer(d), pointer(types)
#define RECEIVED_W(d) pointer(w.out), pointer(v.counts), pointer(d), pointer(types)
#define REDUCED pointer(w.in), pointer(w.out), count(one), type(), op()
#define END(c) comm(c), pointer(w.requests)
#define COLLECTIVES(form)                                                                                              \
    WRONG(Ibcast##form, pointer(w.in), count(one), type(), rank(), END(w.comm));                                       \
    WRONG(Igather##form, SENT, RECEIVED, rank(), END(w.comm));                                                         \
    WRONG(Igatherv##form, SENT, RECEIVED_V, rank(), END(w.comm));                                                      \
    WRONG(Iscatter##form, SENT, RECEIVED, rank(), END(w.comm));                                                        \
    WRONG(Iscatterv##form, SENT_V, RECEIVED, rank(), END(w.comm));                                                     \
    WRONG(Iallgather##form, SENT, RECEIVED, END(w.comm));                                                              \
    WRONG(Iallgatherv##form, SENT, RECEIVED_V, END(w.comm));                                                           \
    WRONG(Ialltoall##form, SENT, RECEIVED, END(w.comm));                                                               \
    WRONG(Ialltoallv##form, SENT_V, RECEIVED_V, END(w.comm));                                                          \
    WRONG(Ialltoallw##form, SENT_W(v.displacements), RECEIVED_W(v.displacements), END(w.comm));                        \
    WRONG(Ineighbor_allgather##form, SENT, RECEIVED, END(w.ring));                                                     \
    WRONG(Ineighbor_allgatherv##form, SENT, RECEIVED_V, END(w.ring));                                                  \
    WRONG(Ineighbor_alltoall##form, SENT, RECEIVED, END(w.ring));                                                      \
    WRONG(Ineighbor_alltoallv##form, SENT_V, RECEIVED_V, END(w.ring));                                                 \
    WRONG(Ineighbor_alltoallw##form, SENT_W(addresses), RECEIVED_W(addresses), END(w.ring));                           \
    WRONG(Ireduce##form, REDUCED, rank(), END(w.comm));                                                                \
    WRONG(Iallreduce##form, REDUCED, END(w.comm));                                                                     \
    WRONG(Iscan##form, REDUCED, END(w.comm));                                                                          \
    WRONG(Iexscan##form, REDUCED, END(w.comm));                                                                        \
    WRONG(Ireduce_scatter_block##form, REDUCED, END(w.comm));                                                          \
    WRONG(Ireduce_scatter##form, pointer(w.in), pointer(w.out), pointer(v.counts), type(), op(), END(w.comm))

void add_nonblocking(table &to, world &w) {
    types[0] = types[1] = MPI_INT;
    MESSAGES(, 1);
    TRIED(Query_thread, pointer(&w.number));
    TRIED(Improbe, rank(), tag(world::pending_tag), comm(w.comm), pointer(&w.flag), pointer(&w.new_message),
          pointer(w.statuses));
    WRONG(Ibarrier, END(w.comm));
    {
        auto &v = all<int, int>;
        const int one = 1;
        COLLECTIVES();
    }
#if defined(THENCE_MPI_ISENDRECV)
    BOTH_WAYS(, 1);
#endif
#if defined(THENCE_MPI_ISENDRECV) && defined(THENCE_MPI_LARGE_COUNTS)
    BOTH_WAYS(_c, MPI_Count{1});
#endif
#if defined(THENCE_MPI_LARGE_COUNTS)
    MESSAGES(_c, MPI_Count{1});
    auto &v = all<MPI_Count, MPI_Aint>;
    const MPI_Count one = 1;
    COLLECTIVES(_c);
#endif
}

} // namespace wrong_arguments
