// SPDX-License-Identifier: BSD-3-Clause
// Collectives on thread communicators, blocking and nonblocking, under MPI's names and with MPI's parameters, for
// counts of type int and MPI_Count alike.
#pragma once

#include "interpose/calls/on_threadcomm.hpp"
#include "mpix/threadcomm/collectives.hpp"

namespace thence::pmpi::on_threads {

using threadcomm::all_ranks;
using threadcomm::collective_call;
using threadcomm::even_blocks;
using threadcomm::vector_blocks;
using data = threadcomm::data_argument;

inline int Barrier(collective_call &call, MPI_Comm) {
    return barrier(call);
}
template <class C> int Bcast(collective_call &call, void *buf, C n, MPI_Datatype t, int root, MPI_Comm) {
    return broadcast(call, {buf, n, t}, root);
}
template <class C>
int Gather(collective_call &call, const void *in, C n, MPI_Datatype t, void *out, C m, MPI_Datatype u, int root,
           MPI_Comm) {
    return gather(call, {const_cast<void *>(in), n, t}, even_blocks(out, m, u), root);
}
template <class C, class D>
int Gatherv(collective_call &call, const void *in, C n, MPI_Datatype t, void *out, const C m[], const D at[],
            MPI_Datatype u, int root, MPI_Comm) {
    return gather(call, {const_cast<void *>(in), n, t}, vector_blocks(out, m, at, u), root);
}
template <class C>
int Scatter(collective_call &call, const void *in, C n, MPI_Datatype t, void *out, C m, MPI_Datatype u, int root,
            MPI_Comm) {
    return scatter(call, even_blocks(in, n, t), {out, m, u}, root);
}
template <class C, class D>
int Scatterv(collective_call &call, const void *in, const C n[], const D at[], MPI_Datatype t, void *out, C m,
             MPI_Datatype u, int root, MPI_Comm) {
    return scatter(call, vector_blocks(in, n, at, t), {out, m, u}, root);
}
template <class C>
int Allgather(collective_call &call, const void *in, C n, MPI_Datatype t, void *out, C m, MPI_Datatype u, MPI_Comm) {
    return all_gather(call, {const_cast<void *>(in), n, t}, even_blocks(out, m, u));
}
template <class C, class D>
int Allgatherv(collective_call &call, const void *in, C n, MPI_Datatype t, void *out, const C m[], const D at[],
               MPI_Datatype u, MPI_Comm) {
    return all_gather(call, {const_cast<void *>(in), n, t}, vector_blocks(out, m, at, u));
}
template <class C>
int Alltoall(collective_call &call, const void *in, C n, MPI_Datatype t, void *out, C m, MPI_Datatype u, MPI_Comm) {
    return all_to_all(call, even_blocks(in, n, t), even_blocks(out, m, u));
}
template <class C, class D>
int Alltoallv(collective_call &call, const void *in, const C n[], const D from[], MPI_Datatype t, void *out,
              const C m[], const D at[], MPI_Datatype u, MPI_Comm) {
    return all_to_all(call, vector_blocks(in, n, from, t), vector_blocks(out, m, at, u));
}
template <class C, class D>
int Alltoallw(collective_call &call, const void *in, const C n[], const D from[], const MPI_Datatype t[], void *out,
              const C m[], const D at[], const MPI_Datatype u[], MPI_Comm) {
    return all_to_all(call, vector_blocks(in, n, from, MPI_DATATYPE_NULL, t),
                      vector_blocks(out, m, at, MPI_DATATYPE_NULL, u));
}
template <class C>
int Reduce(collective_call &call, const void *in, void *out, C n, MPI_Datatype t, MPI_Op op, int root, MPI_Comm) {
    return reduce(call, {in, out, n, t, op}, root < 0 ? -2 : root);
}
template <class C>
int Allreduce(collective_call &call, const void *in, void *out, C n, MPI_Datatype t, MPI_Op op, MPI_Comm) {
    return reduce(call, {in, out, n, t, op}, all_ranks);
}
template <class C>
int Scan(collective_call &call, const void *in, void *out, C n, MPI_Datatype t, MPI_Op op, MPI_Comm) {
    return scan(call, {in, out, n, t, op}, false);
}
template <class C>
int Exscan(collective_call &call, const void *in, void *out, C n, MPI_Datatype t, MPI_Op op, MPI_Comm) {
    return scan(call, {in, out, n, t, op}, true);
}
template <class C>
int Reduce_scatter_block(collective_call &call, const void *in, void *out, C n, MPI_Datatype t, MPI_Op op, MPI_Comm) {
    return reduce_scatter(call, {in, out, 0, t, op}, even_blocks(nullptr, n, t));
}
template <class C>
int Reduce_scatter(collective_call &call, const void *in, void *out, const C n[], MPI_Datatype t, MPI_Op op, MPI_Comm) {
    return reduce_scatter(call, {in, out, 0, t, op}, vector_blocks(nullptr, n, n, t));
}

// Those of topologies, which thread communicators do not have.
template <class... A> int Neighbor_allgather(collective_call &call, A...) {
    return refuse_on(call.comm, call.name);
}
template <class... A> int Neighbor_allgatherv(collective_call &call, A...) {
    return refuse_on(call.comm, call.name);
}
template <class... A> int Neighbor_alltoall(collective_call &call, A...) {
    return refuse_on(call.comm, call.name);
}
template <class... A> int Neighbor_alltoallv(collective_call &call, A...) {
    return refuse_on(call.comm, call.name);
}
template <class... A> int Neighbor_alltoallw(collective_call &call, A...) {
    return refuse_on(call.comm, call.name);
}

} // namespace thence::pmpi::on_threads
