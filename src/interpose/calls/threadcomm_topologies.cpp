// SPDX-License-Identifier: BSD-3-Clause
// Calls that ask for the topology of a communicator. The handle of a thread communicator is a duplicate of a
// communicator that may have one, whose ranks are processes; the thread communicator itself has none.
#include "interpose/calls/next.hpp"
#include "interpose/calls/on_threadcomm.hpp"

#include <thence/thence.h>

extern "C" {

THENCE_EXPORT int MPI_Topo_test(MPI_Comm comm, int *status) {
    if (thence::threadcomm::find_if_any(comm) != nullptr) [[unlikely]] {
        comm = MPI_COMM_SELF; // it has none either
    }
    return THENCE_NEXT(Topo_test)(comm, status);
}

THENCE_NOT_ON_THREADCOMM(Cartdim_get, (MPI_Comm comm, int *n), (comm, n))
THENCE_NOT_ON_THREADCOMM(Cart_get, (MPI_Comm comm, int n, int sizes[], int periods[], int at[]),
                         (comm, n, sizes, periods, at))
THENCE_NOT_ON_THREADCOMM(Cart_rank, (MPI_Comm comm, const int at[], int *rank), (comm, at, rank))
THENCE_NOT_ON_THREADCOMM(Cart_coords, (MPI_Comm comm, int rank, int n, int at[]), (comm, rank, n, at))
THENCE_NOT_ON_THREADCOMM(Cart_shift, (MPI_Comm comm, int dimension, int distance, int *source, int *dest),
                         (comm, dimension, distance, source, dest))
THENCE_NOT_ON_THREADCOMM(Cart_map, (MPI_Comm comm, int n, const int sizes[], const int periods[], int *rank),
                         (comm, n, sizes, periods, rank))
THENCE_NOT_ON_THREADCOMM(Graphdims_get, (MPI_Comm comm, int *nodes, int *edges), (comm, nodes, edges))
THENCE_NOT_ON_THREADCOMM(Graph_get, (MPI_Comm comm, int nodes, int edges, int index[], int neighbors[]),
                         (comm, nodes, edges, index, neighbors))
THENCE_NOT_ON_THREADCOMM(Graph_neighbors_count, (MPI_Comm comm, int rank, int *n), (comm, rank, n))
THENCE_NOT_ON_THREADCOMM(Graph_neighbors, (MPI_Comm comm, int rank, int n, int neighbors[]), (comm, rank, n, neighbors))
THENCE_NOT_ON_THREADCOMM(Graph_map, (MPI_Comm comm, int n, const int index[], const int edges[], int *rank),
                         (comm, n, index, edges, rank))
THENCE_NOT_ON_THREADCOMM(Dist_graph_neighbors_count, (MPI_Comm comm, int *indegree, int *outdegree, int *weighted),
                         (comm, indegree, outdegree, weighted))
THENCE_NOT_ON_THREADCOMM(Dist_graph_neighbors,
                         (MPI_Comm comm, int indegree, int sources[], int sourceweights[], int outdegree,
                          int destinations[], int destweights[]),
                         (comm, indegree, sources, sourceweights, outdegree, destinations, destweights))

} // extern "C"
