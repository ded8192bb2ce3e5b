// SPDX-License-Identifier: BSD-3-Clause
// An operation that a queue starts later: the function that starts it, and its arguments, which the queue copies.
#pragma once

#include "core/mpi/calls.hpp"

#include <thence/enqueue.h>

#include <mpi.h>

#include <atomic>
#include <cstddef>
#include <limits>
#include <memory>
#include <tuple>

namespace thence::queues {

struct enqueued_operation {
    thence_start_function *start = nullptr;
    const void *arguments = nullptr;
    std::size_t size = 0;
    MPI_Comm comm = MPI_COMM_NULL;
    std::shared_ptr<std::atomic<long>> not_begun; // of its communicator, see communicator.hpp; null: it is complete
    const void *call_site = nullptr;              // the code address of the user's call, for reports
};

// The arguments of a message. `peer`: destination or source.
struct message {
    const void *buffer;
    MPI_Count count;
    MPI_Datatype type;
    int peer;
    int tag;
};

inline int start_send(MPI_Comm comm, void *arguments, MPI_Request *request) {
    const auto &m = *static_cast<const message *>(arguments);
#if defined(THENCE_MPI_LARGE_COUNTS)
    if (m.count > std::numeric_limits<int>::max()) {
        return mpi::table.Isend_c(m.buffer, m.count, m.type, m.peer, m.tag, comm, request);
    }
#endif
    return mpi::table.Isend(m.buffer, static_cast<int>(m.count), m.type, m.peer, m.tag, comm, request);
}

inline int start_receive(MPI_Comm comm, void *arguments, MPI_Request *request) {
    const auto &m = *static_cast<const message *>(arguments);
    void *const buffer = const_cast<void *>(m.buffer);
#if defined(THENCE_MPI_LARGE_COUNTS)
    if (m.count > std::numeric_limits<int>::max()) {
        return mpi::table.Irecv_c(buffer, m.count, m.type, m.peer, m.tag, comm, request);
    }
#endif
    return mpi::table.Irecv(buffer, static_cast<int>(m.count), m.type, m.peer, m.tag, comm, request);
}

// `nonblocking`: the member of the call table. The arguments are all but the communicator and the request.
template <auto nonblocking, class... Arguments>
int start_collective(MPI_Comm comm, void *arguments, MPI_Request *request) {
    return std::apply([&](Arguments... each) { return (mpi::table.*nonblocking)(each..., comm, request); },
                      *static_cast<std::tuple<Arguments...> *>(arguments));
}

} // namespace thence::queues
