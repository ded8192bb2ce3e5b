// SPDX-License-Identifier: BSD-3-Clause
// Calls that create or release communicators together with other ranks, see blocking_in_mpi.hpp.
#include "interpose/calls/blocking_in_mpi.hpp"
#include "interpose/calls/next.hpp"
#include "mpix/streams/communicator.hpp"

#define GRAPH int n, const int sources[], const int degrees[], const int destinations[], const int weights[]
#define ADJACENT                                                                                                       \
    int indegree, const int sources[], const int sourceweights[], int outdegree, const int destinations[],             \
        const int destweights[]

namespace threadcomm = thence::threadcomm;

namespace {

template <class Free> int free_communicator(const char *call, MPI_Comm *comm, bool completes, Free by_mpi) {
    if (auto *const threads = comm != nullptr ? threadcomm::find_if_any(*comm) : nullptr) [[unlikely]] {
        return threadcomm::free(call, *threads, comm);
    }
    const MPI_Comm freed = comm != nullptr ? *comm : MPI_COMM_NULL;
    int code = MPI_SUCCESS;
    return thence::streams::prepare_to_free(call, freed, completes, code)
               ? thence::pmpi::block_in_mpi(call, freed, by_mpi)
               : code;
}

} // namespace

// As THENCE_BLOCKING_OR, since some MPIs wait in it, for a call with a request.
#define STARTING_OR(name, parameters, arguments, otherwise)                                                            \
    THENCE_EXPORT int MPI_##name(THENCE_UNPACK parameters) {                                                           \
        if (auto *const found = threadcomm::find_if_any(comm)) [[unlikely]] {                                          \
            return otherwise(*found);                                                                                  \
        }                                                                                                              \
        const int code = thence::pmpi::block_in_mpi("MPI_" #name, comm,                                                \
                                                    [&] { return THENCE_NEXT(name)(THENCE_UNPACK arguments); });       \
        thence::interpose::count_if_started(code, request);                                                            \
        return code;                                                                                                   \
    }

extern "C" {

THENCE_BLOCKING_OR(Comm_dup, (MPI_Comm comm, MPI_Comm *created), (comm, created),
                   [&](auto &threads) { return threadcomm::dup("MPI_Comm_dup", threads, created); })
THENCE_BLOCKING_OR(Comm_dup_with_info, (MPI_Comm comm, MPI_Info info, MPI_Comm *created), (comm, info, created),
                   [&](auto &threads) { return threadcomm::dup("MPI_Comm_dup_with_info", threads, created); })
STARTING_OR(Comm_idup, (MPI_Comm comm, MPI_Comm *created, MPI_Request *request), (comm, created, request),
            [&](auto &threads) { return threadcomm::idup("MPI_Comm_idup", threads, created, request); })
#if defined(THENCE_MPI_IDUP_WITH_INFO)
STARTING_OR(Comm_idup_with_info, (MPI_Comm comm, MPI_Info info, MPI_Comm *created, MPI_Request *request),
            (comm, info, created, request),
            [&](auto &threads) { return threadcomm::idup("MPI_Comm_idup_with_info", threads, created, request); })
#endif
THENCE_BLOCKING_ON_PROCESSES(Comm_create, (MPI_Comm comm, MPI_Group group, MPI_Comm *created), (comm, group, created))
// Only the ranks of the group call it.
THENCE_EXPORT int MPI_Comm_create_group(MPI_Comm comm, MPI_Group group, int tag, MPI_Comm *created) {
    if (auto *const found = threadcomm::find_if_any(comm)) [[unlikely]] {
        return thence::pmpi::refuse_on(*found, "MPI_Comm_create_group");
    }
    return thence::pmpi::block_in_mpi("MPI_Comm_create_group", comm,
                                      [&] { return THENCE_NEXT(Comm_create_group)(comm, group, tag, created); });
}
THENCE_BLOCKING_OR(Comm_split, (MPI_Comm comm, int color, int key, MPI_Comm *created), (comm, color, key, created),
                   [&](auto &threads) { return threadcomm::split("MPI_Comm_split", threads, color, key, created); })
THENCE_BLOCKING_ON_PROCESSES(Comm_split_type, (MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm *created),
                             (comm, type, key, info, created))

THENCE_EXPORT int MPI_Comm_free(MPI_Comm *comm) {
    return free_communicator("MPI_Comm_free", comm, false, [&] { return THENCE_NEXT(Comm_free)(comm); });
}

THENCE_EXPORT int MPI_Comm_disconnect(MPI_Comm *comm) {
    return free_communicator("MPI_Comm_disconnect", comm, true, [&] { return THENCE_NEXT(Comm_disconnect)(comm); });
}

THENCE_BLOCKING_ON_PROCESSES(Intercomm_create,
                             (MPI_Comm comm, int leader, MPI_Comm peers, int remote_leader, int tag, MPI_Comm *created),
                             (comm, leader, peers, remote_leader, tag, created))
THENCE_BLOCKING_ON_PROCESSES(Intercomm_merge, (MPI_Comm comm, int high, MPI_Comm *created), (comm, high, created))
THENCE_BLOCKING_ON_PROCESSES(Cart_create,
                             (MPI_Comm comm, int n, const int sizes[], const int periods[], int reorder,
                              MPI_Comm *created),
                             (comm, n, sizes, periods, reorder, created))
THENCE_BLOCKING_ON_PROCESSES(Cart_sub, (MPI_Comm comm, const int remain[], MPI_Comm *created), (comm, remain, created))
THENCE_BLOCKING_ON_PROCESSES(Graph_create,
                             (MPI_Comm comm, int n, const int index[], const int edges[], int reorder,
                              MPI_Comm *created),
                             (comm, n, index, edges, reorder, created))
THENCE_BLOCKING_ON_PROCESSES(Dist_graph_create, (MPI_Comm comm, GRAPH, MPI_Info info, int reorder, MPI_Comm *created),
                             (comm, n, sources, degrees, destinations, weights, info, reorder, created))
THENCE_BLOCKING_ON_PROCESSES(Dist_graph_create_adjacent,
                             (MPI_Comm comm, ADJACENT, MPI_Info info, int reorder, MPI_Comm *created),
                             (comm, indegree, sources, sourceweights, outdegree, destinations, destweights, info,
                              reorder, created))
THENCE_BLOCKING_ON_PROCESSES(Comm_accept, (const char *port, MPI_Info info, int root, MPI_Comm comm, MPI_Comm *created),
                             (port, info, root, comm, created))
THENCE_BLOCKING_ON_PROCESSES(Comm_connect,
                             (const char *port, MPI_Info info, int root, MPI_Comm comm, MPI_Comm *created),
                             (port, info, root, comm, created))
THENCE_BLOCKING_ON_PROCESSES(Comm_spawn,
                             (const char *command, char *argv[], int n, MPI_Info info, int root, MPI_Comm comm,
                              MPI_Comm *created, int codes[]),
                             (command, argv, n, info, root, comm, created, codes))
THENCE_BLOCKING_ON_PROCESSES(Comm_spawn_multiple,
                             (int count, char *commands[], char **argvs[], const int ns[], const MPI_Info infos[],
                              int root, MPI_Comm comm, MPI_Comm *created, int codes[]),
                             (count, commands, argvs, ns, infos, root, comm, created, codes))

} // extern "C"
