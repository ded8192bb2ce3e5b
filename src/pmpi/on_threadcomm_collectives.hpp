// SPDX-License-Identifier: BSD-3-Clause
// Blocking collectives on thread communicators, under MPI's names and with MPI's parameters, for counts of type int and
// MPI_Count alike.
#pragma once

#include "pmpi/on_threadcomm.hpp"
#include "threadcomm/collectives.hpp"

namespace thence::pmpi::on_threads {

using threadcomm::all_ranks;
using threadcomm::communicator;
using threadcomm::even_blocks;
using threadcomm::vector_blocks;
using data = threadcomm::data_argument;

inline int Barrier(const char *call, communicator &threads, MPI_Comm) {
    return barrier(call, threads);
}
template <class C>
int Bcast(const char *call, communicator &threads, void *buf, C n, MPI_Datatype t, int root, MPI_Comm) {
    return broadcast(call, threads, {buf, n, t}, root);
}
template <class C>
int Gather(const char *call, communicator &threads, const void *in, C n, MPI_Datatype t, void *out, C m, MPI_Datatype u,
           int root, MPI_Comm) {
    return gather(call, threads, {const_cast<void *>(in), n, t}, even_blocks(out, m, u), root);
}
template <class C, class D>
int Gatherv(const char *call, communicator &threads, const void *in, C n, MPI_Datatype t, void *out, const C m[],
            const D at[], MPI_Datatype u, int root, MPI_Comm) {
    return gather(call, threads, {const_cast<void *>(in), n, t}, vector_blocks(out, m, at, u), root);
}
template <class C>
int Scatter(const char *call, communicator &threads, const void *in, C n, MPI_Datatype t, void *out, C m,
            MPI_Datatype u, int root, MPI_Comm) {
    return scatter(call, threads, even_blocks(in, n, t), {out, m, u}, root);
}
template <class C, class D>
int Scatterv(const char *call, communicator &threads, const void *in, const C n[], const D at[], MPI_Datatype t,
             void *out, C m, MPI_Datatype u, int root, MPI_Comm) {
    return scatter(call, threads, vector_blocks(in, n, at, t), {out, m, u}, root);
}
template <class C>
int Allgather(const char *call, communicator &threads, const void *in, C n, MPI_Datatype t, void *out, C m,
              MPI_Datatype u, MPI_Comm) {
    return all_gather(call, threads, {const_cast<void *>(in), n, t}, even_blocks(out, m, u));
}
template <class C, class D>
int Allgatherv(const char *call, communicator &threads, const void *in, C n, MPI_Datatype t, void *out, const C m[],
               const D at[], MPI_Datatype u, MPI_Comm) {
    return all_gather(call, threads, {const_cast<void *>(in), n, t}, vector_blocks(out, m, at, u));
}
template <class C>
int Alltoall(const char *call, communicator &threads, const void *in, C n, MPI_Datatype t, void *out, C m,
             MPI_Datatype u, MPI_Comm) {
    return all_to_all(call, threads, even_blocks(in, n, t), even_blocks(out, m, u));
}
template <class C, class D>
int Alltoallv(const char *call, communicator &threads, const void *in, const C n[], const D from[], MPI_Datatype t,
              void *out, const C m[], const D at[], MPI_Datatype u, MPI_Comm) {
    return all_to_all(call, threads, vector_blocks(in, n, from, t), vector_blocks(out, m, at, u));
}
template <class C, class D>
int Alltoallw(const char *call, communicator &threads, const void *in, const C n[], const D from[],
              const MPI_Datatype t[], void *out, const C m[], const D at[], const MPI_Datatype u[], MPI_Comm) {
    return all_to_all(call, threads, vector_blocks(in, n, from, MPI_DATATYPE_NULL, t),
                      vector_blocks(out, m, at, MPI_DATATYPE_NULL, u));
}
template <class C>
int Reduce(const char *call, communicator &threads, const void *in, void *out, C n, MPI_Datatype t, MPI_Op op, int root,
           MPI_Comm) {
    return reduce(call, threads, {in, out, n, t, op}, root < 0 ? -2 : root);
}
template <class C>
int Allreduce(const char *call, communicator &threads, const void *in, void *out, C n, MPI_Datatype t, MPI_Op op,
              MPI_Comm) {
    return reduce(call, threads, {in, out, n, t, op}, all_ranks);
}
template <class C>
int Scan(const char *call, communicator &threads, const void *in, void *out, C n, MPI_Datatype t, MPI_Op op, MPI_Comm) {
    return scan(call, threads, {in, out, n, t, op}, false);
}
template <class C>
int Exscan(const char *call, communicator &threads, const void *in, void *out, C n, MPI_Datatype t, MPI_Op op,
           MPI_Comm) {
    return scan(call, threads, {in, out, n, t, op}, true);
}
template <class C>
int Reduce_scatter_block(const char *call, communicator &threads, const void *in, void *out, C n, MPI_Datatype t,
                         MPI_Op op, MPI_Comm) {
    return reduce_scatter(call, threads, {in, out, 0, t, op}, even_blocks(nullptr, n, t));
}
template <class C>
int Reduce_scatter(const char *call, communicator &threads, const void *in, void *out, const C n[], MPI_Datatype t,
                   MPI_Op op, MPI_Comm) {
    return reduce_scatter(call, threads, {in, out, 0, t, op}, vector_blocks(nullptr, n, n, t));
}

// Those of topologies, which thread communicators do not have.
template <class... A> int Neighbor_allgather(const char *call, communicator &threads, A...) {
    return refuse_on(threads, call);
}
template <class... A> int Neighbor_allgatherv(const char *call, communicator &threads, A...) {
    return refuse_on(threads, call);
}
template <class... A> int Neighbor_alltoall(const char *call, communicator &threads, A...) {
    return refuse_on(threads, call);
}
template <class... A> int Neighbor_alltoallv(const char *call, communicator &threads, A...) {
    return refuse_on(threads, call);
}
template <class... A> int Neighbor_alltoallw(const char *call, communicator &threads, A...) {
    return refuse_on(threads, call);
}

} // namespace thence::pmpi::on_threads
