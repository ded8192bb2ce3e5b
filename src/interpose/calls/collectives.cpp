// SPDX-License-Identifier: BSD-3-Clause
// Blocking collectives. Each blocks inside MPI, since only a blocking call matches the other ranks' blocking calls.
// Where all ranks do so, each is done by its nonblocking form: while blocking calls in tasks block the task
// (tasks/blocking_calls.hpp), and if the waits of all ranks leave the processor (THENCE_WAIT). On a communicator of a
// stream with a queue each is enqueued.
#include "interpose/calls/blocking_in_mpi.hpp"
#include "interpose/calls/collective_table.hpp"
#include "interpose/calls/next.hpp"
#include "interpose/calls/on_threadcomm_collectives.hpp"
#include "interpose/requests/communicators.hpp"
#include "interpose/requests/requests.hpp"
#include "interpose/waiting/blocking_tasks.hpp"
#include "interpose/waiting/wait_strategy.hpp"
#include "mpix/streams/communicator.hpp"

#include <thence/enqueue.h>

using namespace thence::interpose;

namespace {

bool is_intracommunicator(MPI_Comm comm) {
    int inter = 0;
    return PMPI_Comm_test_inter(comm, &inter) != MPI_SUCCESS || inter == 0;
}

template <class Start> int by_nonblocking(const char *name, MPI_Comm comm, Start start, const void *where) {
    const thence::interpose::blocking_call blocks({.name = name, .where = where, .comm = comm});
    MPI_Request request = MPI_REQUEST_NULL;
    const int code = start(&request);
    if (code != MPI_SUCCESS || request == MPI_REQUEST_NULL) {
        return code;
    }
    const wait_strategy *how = strategy(name);
    return how != nullptr ? how->complete(&request, MPI_STATUS_IGNORE, where) : PMPI_Wait(&request, MPI_STATUS_IGNORE);
}

template <class Blocking, class Start, class OnThreads, class Enqueue>
int collective(const char *name, MPI_Comm comm, Blocking blocking, Start start, OnThreads on_threads, Enqueue enqueue,
               const void *where) {
    if (is_plain()) [[likely]] {
        return blocking();
    }
    if (thence::interpose::calls_only_count()) {
        return thence::interpose::count_blocking(blocking);
    }
    const thence::streams::serial_call on_stream(name, comm);
    if (auto *const threads = thence::threadcomm::find_if_any(comm)) {
        return on_threads(*threads);
    }
    if (thence::streams::has_queue_if_any(comm)) {
        return enqueue();
    }
    return collectives_by_nonblocking() && is_intracommunicator(comm)
               ? by_nonblocking(name, comm, start, where)
               : thence::pmpi::block_in_mpi(name, blocking, comm, where);
}

} // namespace

// What enqueues each, on a communicator of a stream with a queue.
#define ENQUEUE_Barrier thence_barrier_enqueue
#define ENQUEUE_Bcast thence_bcast_enqueue
#define ENQUEUE_Gather thence_gather_enqueue
#define ENQUEUE_Gatherv thence_gatherv_enqueue
#define ENQUEUE_Scatter thence_scatter_enqueue
#define ENQUEUE_Scatterv thence_scatterv_enqueue
#define ENQUEUE_Allgather thence_allgather_enqueue
#define ENQUEUE_Allgatherv thence_allgatherv_enqueue
#define ENQUEUE_Alltoall thence_alltoall_enqueue
#define ENQUEUE_Alltoallv thence_alltoallv_enqueue
#define ENQUEUE_Alltoallw thence_alltoallw_enqueue
#define ENQUEUE_Neighbor_allgather thence_neighbor_allgather_enqueue
#define ENQUEUE_Neighbor_allgatherv thence_neighbor_allgatherv_enqueue
#define ENQUEUE_Neighbor_alltoall thence_neighbor_alltoall_enqueue
#define ENQUEUE_Neighbor_alltoallv thence_neighbor_alltoallv_enqueue
#define ENQUEUE_Neighbor_alltoallw thence_neighbor_alltoallw_enqueue
#define ENQUEUE_Reduce thence_reduce_enqueue
#define ENQUEUE_Allreduce thence_allreduce_enqueue
#define ENQUEUE_Scan thence_scan_enqueue
#define ENQUEUE_Exscan thence_exscan_enqueue
#define ENQUEUE_Reduce_scatter_block thence_reduce_scatter_block_enqueue
#define ENQUEUE_Reduce_scatter thence_reduce_scatter_enqueue

#define COLLECTIVE(name, common_name, nonblocking, enqueued, parameters, arguments)                                    \
    THENCE_EXPORT int MPI_##name(THENCE_UNPACK parameters) {                                                           \
        return collective(                                                                                             \
            "MPI_" #name, comm, [&] { return THENCE_NEXT(name)(THENCE_UNPACK arguments); },                            \
            [&](MPI_Request *request) { return nonblocking(THENCE_UNPACK arguments, request); },                       \
            [&](auto &threads) {                                                                                       \
                thence::threadcomm::collective_call call("MPI_" #name, threads, nullptr);                              \
                return thence::pmpi::on_threads::common_name(call, THENCE_UNPACK arguments);                           \
            },                                                                                                         \
            [&] { return enqueued(THENCE_UNPACK arguments); }, __builtin_return_address(0));                           \
    }
#define WITH_INT(name, parameters, arguments)                                                                          \
    COLLECTIVE(name, name, THENCE_PASTE(PMPI_, THENCE_I_##name), ENQUEUE_##name, parameters, arguments)
#define WITH_COUNTS(name, parameters, arguments)                                                                       \
    COLLECTIVE(name##_c, name, THENCE_PASTE(THENCE_PASTE(PMPI_, THENCE_I_##name), _c),                                 \
               THENCE_PASTE(ENQUEUE_##name, _c), parameters, arguments)

extern "C" {

WITH_INT(Barrier, (MPI_Comm comm), (comm))
THENCE_COLLECTIVES(WITH_INT, int, int)
#if defined(THENCE_MPI_LARGE_COUNTS)
THENCE_COLLECTIVES(WITH_COUNTS, MPI_Count, MPI_Aint)
#endif

} // extern "C"
