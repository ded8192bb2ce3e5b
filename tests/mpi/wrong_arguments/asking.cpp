// SPDX-License-Identifier: BSD-3-Clause
// Calls that ask a communicator for something and do not wait, with right and wrong arguments; and MPI_Session_init.
#include "table.hpp"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations" // MPI_Attr_put and the like

namespace wrong_arguments {

namespace {

void *attribute = nullptr;
int periods[1] = {0};
int one_size[1] = {1};
int place[1] = {0};

} // namespace

#define ATTRIBUTES(set, get, remove)                                                                                   \
    TRIED(get, comm(w.comm), fixed<int>(MPI_TAG_UB), fixed<void *>(&attribute), pointer(&w.flag));                     \
    for (const int none : {int{MPI_KEYVAL_INVALID}}) {                                                                 \
        WRONG(set, comm(w.comm), fixed(none), fixed<void *>(nullptr));                                                 \
        WRONG(remove, comm(w.comm), fixed(none));                                                                      \
        to.add_call({"MPI_" #set, "invalid keyval", false, true,                                                       \
                     [&w, none](bool pmpi) { return (pmpi ? &PMPI_##set : &MPI_##set)(w.comm, none, nullptr); }});     \
        to.add_call({"MPI_" #remove, "invalid keyval", false, true,                                                    \
                     [&w, none](bool pmpi) { return (pmpi ? &PMPI_##remove : &MPI_##remove)(w.comm, none); }});        \
    }

void add_asking(table &to, world &w) {
    TRIED(Comm_rank, comm(w.comm), pointer(&w.index));
    TRIED(Comm_size, comm(w.comm), pointer(&w.index));
    TRIED(Comm_compare, comm(w.comm), comm(w.ring), pointer(&w.index));
    WRONG(Comm_group, comm(w.comm), pointer(&w.new_group));
    ATTRIBUTES(Comm_set_attr, Comm_get_attr, Comm_delete_attr)
    ATTRIBUTES(Attr_put, Attr_get, Attr_delete)

    TRIED(Topo_test, comm(w.ring), pointer(&w.index));
    TRIED(Cartdim_get, comm(w.ring), pointer(&w.index));
    TRIED(Cart_get, comm(w.ring), number(1), pointer(&w.index), pointer(&w.number), pointer(w.indices));
    TRIED(Cart_rank, comm(w.ring), pointer(place), pointer(&w.index));
    TRIED(Cart_coords, comm(w.ring), rank(), number(1), pointer(w.indices));
    TRIED(Cart_shift, comm(w.ring), number(0), fixed(1), pointer(&w.index), pointer(&w.number));
    TRIED(Cart_map, comm(w.comm), number(1), pointer(one_size), pointer(periods), pointer(&w.index));
    TRIED(Graph_map, comm(w.comm), number(1), pointer(one_size), pointer(place), pointer(&w.index));
    // `w.ring` has no graph.
    WRONG(Graphdims_get, comm(w.ring), pointer(&w.index), pointer(&w.number));
    WRONG(Graph_get, comm(w.ring), number(1), number(1), pointer(w.indices), pointer(w.in));
    WRONG(Graph_neighbors_count, comm(w.ring), rank(), pointer(&w.index));
    WRONG(Graph_neighbors, comm(w.ring), rank(), number(1), pointer(w.indices));
    WRONG(Dist_graph_neighbors_count, comm(w.ring), pointer(&w.index), pointer(&w.number), pointer(&w.flag));
    WRONG(Dist_graph_neighbors, comm(w.ring), number(1), pointer(w.indices), pointer(w.in), number(1), pointer(w.out),
          pointer(w.received));
#if defined(THENCE_MPI_SESSIONS)
    static MPI_Session session;
    WRONG(Session_init, fixed(MPI_Info{MPI_INFO_NULL}), fixed(MPI_Errhandler{MPI_ERRORS_RETURN}), pointer(&session));
#endif
}

} // namespace wrong_arguments
