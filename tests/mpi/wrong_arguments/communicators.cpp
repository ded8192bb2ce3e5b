// SPDX-License-Identifier: BSD-3-Clause
// Calls on communicators that MPI refuses. Those that need a second group of processes are tried with wrong arguments
// only.
#include "table.hpp"

namespace wrong_arguments {

namespace {

int sizes[1] = {1};
int periods[1] = {1};
int one_source[1] = {0};
int one_degree[1] = {1};
int one_weight[1] = {1};
char command[] = "no_such_program";
char port[MPI_MAX_PORT_NAME] = "no such port";
char *commands[1] = {command};
int processes[1] = {1};
int codes[1];
MPI_Info infos[1];

argument<MPI_Info> no_info() {
    return fixed(MPI_Info{MPI_INFO_NULL});
}

} // namespace

void add_communicators(table &to, world &w) {
    infos[0] = MPI_INFO_NULL;
    const argument<MPI_Comm *> created = pointer(&w.new_comm);
    TRIED(Comm_dup, comm(w.comm), created);
    TRIED(Comm_dup_with_info, comm(w.comm), no_info(), created);
    WRONG(Comm_idup, comm(w.comm), created, pointer(w.requests));
#if defined(THENCE_MPI_IDUP_WITH_INFO)
    WRONG(Comm_idup_with_info, comm(w.comm), no_info(), created, pointer(w.requests));
#endif
    TRIED(Comm_create, comm(w.comm), group(w.group), created);
    TRIED(Comm_create_group, comm(w.comm), group(w.group), tag(1), created);
    TRIED(Comm_split, comm(w.comm), number(0), fixed(0), created);
    TRIED(Comm_split_type, comm(w.comm), number(MPI_COMM_TYPE_SHARED), fixed(0), no_info(), created);
    WRONG(Comm_free, pointer(&w.comm));
    WRONG(Comm_disconnect, pointer(&w.comm));
    for (bool free : {true, false}) {
        to.add_call(
            {free ? "MPI_Comm_free" : "MPI_Comm_disconnect", "null communicator", true, true, [&w, free](bool pmpi) {
                 w.new_comm = MPI_COMM_NULL;
                 return free ? (pmpi ? &PMPI_Comm_free : &MPI_Comm_free)(&w.new_comm)
                             : (pmpi ? &PMPI_Comm_disconnect : &MPI_Comm_disconnect)(&w.new_comm);
             }});
    }
    // One process has no second communicator to connect: leaders and peers are wrong in every row.
    WRONG(Intercomm_create, comm(w.comm), rank(), comm(w.comm), rank(), tag(1), created);
    to.add_call({"MPI_Intercomm_merge", "no intercommunicator", true, true, [&w](bool pmpi) {
                     return (pmpi ? &PMPI_Intercomm_merge : &MPI_Intercomm_merge)(w.comm, 0, &w.new_comm);
                 }});
    WRONG(Intercomm_merge, comm(w.comm), fixed(0), created);
    TRIED(Cart_create, comm(w.comm), number(1), pointer(sizes), pointer(periods), fixed(0), created);
    TRIED(Cart_sub, comm(w.ring), pointer(periods), created);
    TRIED(Graph_create, comm(w.comm), number(1), pointer(one_degree), pointer(one_source), fixed(0), created);
    TRIED(Dist_graph_create, comm(w.comm), number(1), pointer(one_source), pointer(one_degree), pointer(one_source),
          pointer(one_weight), no_info(), fixed(0), created);
    TRIED(Dist_graph_create_adjacent, comm(w.comm), number(1), pointer(one_source), pointer(one_weight), number(1),
          pointer(one_source), pointer(one_weight), no_info(), fixed(0), created);
    // The other arguments are good, and the calls would wait for processes that do not come.
    for (MPI_Comm none : {w.nobody}) {
        WRONG(Comm_accept, fixed<const char *>(port), no_info(), rank(), fixed(none), created);
        WRONG(Comm_connect, fixed<const char *>(port), no_info(), rank(), fixed(none), created);
        WRONG(Comm_spawn, fixed<const char *>(command), fixed(MPI_ARGV_NULL), number(1), no_info(), rank(), fixed(none),
              created, pointer(codes));
        WRONG(Comm_spawn_multiple, number(1), pointer(commands), fixed(MPI_ARGVS_NULL), fixed<const int *>(processes),
              fixed<const MPI_Info *>(infos), rank(), fixed(none), created, pointer(codes));
    }
}

} // namespace wrong_arguments
