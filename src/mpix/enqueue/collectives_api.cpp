// SPDX-License-Identifier: BSD-3-Clause
// Enqueued collectives: thence/enqueue_collectives.h. The arguments of a call are kept in a tuple, with which the
// nonblocking form is called when the queue is there.
#include <thence/enqueue.h>

#include "core/mpi/calls.hpp"
#include "mpix/enqueue/enqueue_operation.hpp"

#include <array>
#include <limits>
#include <tuple>
#include <type_traits>

using namespace thence;
using api::fail;
using api::public_call;
namespace reason = api::reason;
using enqueue::buffer_use;

namespace {

// Which arguments of a collective are its buffers, and how many elements each has.
enum class shape {
    no_buffer,
    bcast,           // buf, count, type, root
    reduction,       // sendbuf, recvbuf, count, type
    block_reduction, // sendbuf, recvbuf, count of each process, type
    gather,          // sendbuf, count, type, recvbuf, count, type, root
    scatter,
    allgather,
    alltoall,
    reduce_scatter, // what follows has arrays of counts, or neighbors: one number does not tell how much there is
    second_at_3,
    second_at_4,
};

template <std::size_t i, class Tuple> const void **slot(Tuple &arguments) noexcept {
    return reinterpret_cast<const void **>(reinterpret_cast<char *>(&std::get<i>(arguments)));
}

template <std::size_t second, class Tuple> std::array<buffer_use, 2> undescribed(Tuple &t) noexcept {
    return {buffer_use{slot<0>(t), -1, MPI_BYTE, true, false}, buffer_use{slot<second>(t), -1, MPI_BYTE, true, true}};
}

// `send`, `receive`: how many blocks each buffer has; 0: the argument has no meaning on this process.
template <class Tuple> std::array<buffer_use, 2> blocks(Tuple &t, MPI_Count send, MPI_Count receive) noexcept {
    return {buffer_use{slot<0>(t), send == 0 ? 0 : send * std::get<1>(t), std::get<2>(t), true, false},
            buffer_use{slot<3>(t), receive == 0 ? 0 : receive * std::get<4>(t), std::get<5>(t), true, true}};
}

template <shape form, class Tuple> auto buffers(Tuple &t, MPI_Comm comm) noexcept {
    int rank = 0;
    int size = 0;
    mpi::table.Comm_rank(comm, &rank);
    mpi::table.Comm_size(comm, &size);
    if constexpr (form == shape::no_buffer) {
        return std::array<buffer_use, 0>{};
    } else if constexpr (form == shape::bcast) {
        const bool root = rank == std::get<3>(t);
        return std::array{buffer_use{slot<0>(t), std::get<1>(t), std::get<2>(t), root, !root}};
    } else if constexpr (form == shape::reduction || form == shape::block_reduction) {
        const MPI_Count each = std::get<2>(t);
        const MPI_Count sent = form == shape::reduction ? each : each * size;
        return std::array{
            buffer_use{slot<0>(t), sent, std::get<3>(t), true, false},
            buffer_use{slot<1>(t), std::get<0>(t) == MPI_IN_PLACE ? sent : each, std::get<3>(t), true, true}};
    } else if constexpr (form == shape::gather) {
        return blocks(t, 1, rank == std::get<6>(t) ? size : 0);
    } else if constexpr (form == shape::scatter) {
        return blocks(t, rank == std::get<6>(t) ? size : 0, 1);
    } else if constexpr (form == shape::allgather) {
        return blocks(t, 1, size);
    } else if constexpr (form == shape::alltoall) {
        return blocks(t, size, size);
    } else if constexpr (form == shape::reduce_scatter) {
        return undescribed<1>(t);
    } else if constexpr (form == shape::second_at_3) {
        return undescribed<3>(t);
    } else {
        return undescribed<4>(t);
    }
}

template <shape form, auto nonblocking, class... Arguments>
int collective(const public_call &call, const void *call_site, MPI_Comm comm, Arguments... each) noexcept {
    if (comm == MPI_COMM_NULL) {
        return fail(call, reason::null_comm);
    }
    std::tuple<Arguments...> arguments(each...);
    return enqueue::enqueue_operation(
        call,
        {&queues::start_collective<nonblocking, Arguments...>, &arguments, sizeof arguments, comm, nullptr, call_site},
        [&] { return buffers<form>(arguments, comm); }, MPI_STATUS_IGNORE);
}

#if !defined(THENCE_MPI_LARGE_COUNTS)
template <class T> constexpr bool is_count_array = std::is_same_v<T, const MPI_Count *>;

// A large count as an int; anything else as it is.
template <class T> auto narrow(T value) noexcept {
    if constexpr (std::is_same_v<T, MPI_Count>) {
        return static_cast<int>(value);
    } else {
        return value;
    }
}
template <class T> bool fits([[maybe_unused]] T value) noexcept {
    if constexpr (std::is_same_v<T, MPI_Count>) {
        return value <= std::numeric_limits<int>::max();
    } else {
        return true;
    }
}

// A form with large counts, without those of MPI.
template <shape form, auto nonblocking, class... Arguments>
int large_collective(const public_call &call, const void *call_site, MPI_Comm comm, Arguments... each) noexcept {
    if constexpr ((is_count_array<Arguments> || ...)) {
        return fail(call, {MPI_ERR_UNSUPPORTED_OPERATION, "this MPI has no large counts"});
    } else {
        if (!(fits(each) && ...)) {
            return fail(call, reason::count_too_large);
        }
        return collective<form, nonblocking>(call, call_site, comm, narrow(each)...);
    }
}
#endif

} // namespace

// What a process sends and receives. _V: a count and a displacement for each process; _W: a datatype for each, too.
// First the parameters, then the arguments.
#define SEND(n_t) const void *sendbuf, n_t sendcount, MPI_Datatype sendtype
#define SEND_V(n_t, d_t) const void *sendbuf, const n_t *sendcounts, const d_t *sdispls, MPI_Datatype sendtype
#define SEND_W(n_t, d_t) const void *sendbuf, const n_t *sendcounts, const d_t *sdispls, const MPI_Datatype *sendtypes
#define RECV(n_t) void *recvbuf, n_t recvcount, MPI_Datatype recvtype
#define RECV_V(n_t, d_t) void *recvbuf, const n_t *recvcounts, const d_t *rdispls, MPI_Datatype recvtype
#define RECV_W(n_t, d_t) void *recvbuf, const n_t *recvcounts, const d_t *rdispls, const MPI_Datatype *recvtypes
#define REDUCE(n_t) const void *sendbuf, void *recvbuf, n_t count, MPI_Datatype datatype, MPI_Op op
#define SENT sendbuf, sendcount, sendtype
#define SENT_V sendbuf, sendcounts, sdispls, sendtype
#define SENT_W sendbuf, sendcounts, sdispls, sendtypes
#define RECEIVED recvbuf, recvcount, recvtype
#define RECEIVED_V recvbuf, recvcounts, rdispls, recvtype
#define RECEIVED_W recvbuf, recvcounts, rdispls, recvtypes
#define REDUCED sendbuf, recvbuf, count, datatype, op

// A row: name, shape, parameters but the communicator, arguments.
// clang-format off
#define ROWS(X, n_t, d_t)                                                                                             \
    X(bcast, bcast, (void *buf, n_t count, MPI_Datatype datatype, int root), (buf, count, datatype, root))            \
    X(gather, gather, (SEND(n_t), RECV(n_t), int root), (SENT, RECEIVED, root))                                       \
    X(gatherv, second_at_3, (SEND(n_t), RECV_V(n_t, d_t), int root), (SENT, RECEIVED_V, root))                        \
    X(scatter, scatter, (SEND(n_t), RECV(n_t), int root), (SENT, RECEIVED, root))                                     \
    X(scatterv, second_at_4, (SEND_V(n_t, d_t), RECV(n_t), int root), (SENT_V, RECEIVED, root))                       \
    X(allgather, allgather, (SEND(n_t), RECV(n_t)), (SENT, RECEIVED))                                                 \
    X(allgatherv, second_at_3, (SEND(n_t), RECV_V(n_t, d_t)), (SENT, RECEIVED_V))                                     \
    X(alltoall, alltoall, (SEND(n_t), RECV(n_t)), (SENT, RECEIVED))                                                   \
    X(alltoallv, second_at_4, (SEND_V(n_t, d_t), RECV_V(n_t, d_t)), (SENT_V, RECEIVED_V))                             \
    X(alltoallw, second_at_4, (SEND_W(n_t, d_t), RECV_W(n_t, d_t)), (SENT_W, RECEIVED_W))                             \
    X(neighbor_allgather, second_at_3, (SEND(n_t), RECV(n_t)), (SENT, RECEIVED))                                      \
    X(neighbor_allgatherv, second_at_3, (SEND(n_t), RECV_V(n_t, d_t)), (SENT, RECEIVED_V))                            \
    X(neighbor_alltoall, second_at_3, (SEND(n_t), RECV(n_t)), (SENT, RECEIVED))                                       \
    X(neighbor_alltoallv, second_at_4, (SEND_V(n_t, d_t), RECV_V(n_t, d_t)), (SENT_V, RECEIVED_V))                    \
    X(neighbor_alltoallw, second_at_4, (SEND_W(n_t, MPI_Aint), RECV_W(n_t, MPI_Aint)), (SENT_W, RECEIVED_W))          \
    X(reduce, reduction, (REDUCE(n_t), int root), (REDUCED, root))                                                    \
    X(allreduce, reduction, (REDUCE(n_t)), (REDUCED))                                                                 \
    X(scan, reduction, (REDUCE(n_t)), (REDUCED))                                                                      \
    X(exscan, reduction, (REDUCE(n_t)), (REDUCED))                                                                    \
    X(reduce_scatter_block, block_reduction, (REDUCE(n_t)), (REDUCED))                                                \
    X(reduce_scatter, reduce_scatter, (REDUCE(const n_t *)), (REDUCED))
// clang-format on

#define UNPACK(...) __VA_ARGS__
#define WITH_INT(name, form, parameters, arguments)                                                                    \
    int thence_##name##_enqueue(UNPACK parameters, MPI_Comm comm) {                                                    \
        return collective<shape::form, &mpi::calls::I##name>("thence_" #name "_enqueue", __builtin_return_address(0),  \
                                                             comm, UNPACK arguments);                                  \
    }
#if defined(THENCE_MPI_LARGE_COUNTS)
#define WITH_COUNTS(name, form, parameters, arguments)                                                                 \
    int thence_##name##_enqueue_c(UNPACK parameters, MPI_Comm comm) {                                                  \
        return collective<shape::form, &mpi::calls::I##name##_c>("thence_" #name "_enqueue_c",                         \
                                                                 __builtin_return_address(0), comm, UNPACK arguments); \
    }
#else
#define WITH_COUNTS(name, form, parameters, arguments)                                                                 \
    int thence_##name##_enqueue_c(UNPACK parameters, MPI_Comm comm) {                                                  \
        return large_collective<shape::form, &mpi::calls::I##name>(                                                    \
            "thence_" #name "_enqueue_c", __builtin_return_address(0), comm, UNPACK arguments);                        \
    }
#endif

extern "C" {

int thence_barrier_enqueue(MPI_Comm comm) {
    return collective<shape::no_buffer, &mpi::calls::Ibarrier>("thence_barrier_enqueue", __builtin_return_address(0),
                                                               comm);
}
ROWS(WITH_INT, int, int)
ROWS(WITH_COUNTS, MPI_Count, MPI_Aint)

} // extern "C"
