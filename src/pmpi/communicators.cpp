// SPDX-License-Identifier: BSD-3-Clause
// Calls that create or release communicators together with other ranks, see blocking_in_mpi.hpp.
#include "pmpi/blocking_in_mpi.hpp"

#define GRAPH int n, const int sources[], const int degrees[], const int destinations[], const int weights[]
#define ADJACENT                                                                                                       \
    int indegree, const int sources[], const int sourceweights[], int outdegree, const int destinations[],             \
        const int destweights[]

extern "C" {

THENCE_BLOCKING(Comm_dup, (MPI_Comm comm, MPI_Comm *created), (comm, created))
THENCE_BLOCKING(Comm_dup_with_info, (MPI_Comm comm, MPI_Info info, MPI_Comm *created), (comm, info, created))
THENCE_BLOCKING(Comm_idup, (MPI_Comm comm, MPI_Comm *created, MPI_Request *request), (comm, created, request))
THENCE_BLOCKING(Comm_create, (MPI_Comm comm, MPI_Group group, MPI_Comm *created), (comm, group, created))
THENCE_BLOCKING(Comm_create_group, (MPI_Comm comm, MPI_Group group, int tag, MPI_Comm *created),
                (comm, group, tag, created))
THENCE_BLOCKING(Comm_split, (MPI_Comm comm, int color, int key, MPI_Comm *created), (comm, color, key, created))
THENCE_BLOCKING(Comm_split_type, (MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm *created),
                (comm, type, key, info, created))
THENCE_BLOCKING(Comm_free, (MPI_Comm * comm), (comm))
THENCE_BLOCKING(Comm_disconnect, (MPI_Comm * comm), (comm))
THENCE_BLOCKING(Intercomm_create,
                (MPI_Comm local, int leader, MPI_Comm peers, int remote_leader, int tag, MPI_Comm *created),
                (local, leader, peers, remote_leader, tag, created))
THENCE_BLOCKING(Intercomm_merge, (MPI_Comm comm, int high, MPI_Comm *created), (comm, high, created))
THENCE_BLOCKING(Cart_create,
                (MPI_Comm comm, int n, const int sizes[], const int periods[], int reorder, MPI_Comm *created),
                (comm, n, sizes, periods, reorder, created))
THENCE_BLOCKING(Cart_sub, (MPI_Comm comm, const int remain[], MPI_Comm *created), (comm, remain, created))
THENCE_BLOCKING(Graph_create,
                (MPI_Comm comm, int n, const int index[], const int edges[], int reorder, MPI_Comm *created),
                (comm, n, index, edges, reorder, created))
THENCE_BLOCKING(Dist_graph_create, (MPI_Comm comm, GRAPH, MPI_Info info, int reorder, MPI_Comm *created),
                (comm, n, sources, degrees, destinations, weights, info, reorder, created))
THENCE_BLOCKING(Dist_graph_create_adjacent, (MPI_Comm comm, ADJACENT, MPI_Info info, int reorder, MPI_Comm *created),
                (comm, indegree, sources, sourceweights, outdegree, destinations, destweights, info, reorder, created))
THENCE_BLOCKING(Comm_accept, (const char *port, MPI_Info info, int root, MPI_Comm comm, MPI_Comm *created),
                (port, info, root, comm, created))
THENCE_BLOCKING(Comm_connect, (const char *port, MPI_Info info, int root, MPI_Comm comm, MPI_Comm *created),
                (port, info, root, comm, created))
THENCE_BLOCKING(Comm_spawn,
                (const char *command, char *argv[], int n, MPI_Info info, int root, MPI_Comm comm, MPI_Comm *created,
                 int codes[]),
                (command, argv, n, info, root, comm, created, codes))
THENCE_BLOCKING(Comm_spawn_multiple,
                (int count, char *commands[], char **argvs[], const int ns[], const MPI_Info infos[], int root,
                 MPI_Comm comm, MPI_Comm *created, int codes[]),
                (count, commands, argvs, ns, infos, root, comm, created, codes))

} // extern "C"
