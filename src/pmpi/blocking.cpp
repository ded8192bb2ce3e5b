// SPDX-License-Identifier: BSD-3-Clause
// Blocking point-to-point calls. Where one must not block inside MPI (see must_test()), it becomes its nonblocking form
// and a loop of tests, in which our continuations run and MPI makes progress; everywhere else it is MPI's own.
#include "continuation/interposing.hpp"

#include <thence/thence.h>

using namespace thence::continuation;

namespace {

bool by_testing() noexcept {
    return attention.load(std::memory_order_relaxed) != 0 && must_test();
}

int complete(int code, MPI_Request request, MPI_Status *status) {
    int flag = 0;
    for (unsigned turns = 0; code == MPI_SUCCESS && flag == 0; take_turn(++turns)) {
        code = PMPI_Test(&request, &flag, status);
        if (flag != 0) {
            break;
        }
    }
    return code;
}

} // namespace

extern "C" {

#define BLOCKING_SEND(name, nonblocking)                                                                               \
    THENCE_EXPORT int MPI_##name(const void *buf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm) {    \
        if (!by_testing()) [[likely]] {                                                                                \
            return PMPI_##name(buf, count, type, dest, tag, comm);                                                     \
        }                                                                                                              \
        MPI_Request request = MPI_REQUEST_NULL;                                                                        \
        const int code = PMPI_##nonblocking(buf, count, type, dest, tag, comm, &request);                              \
        return complete(code, request, MPI_STATUS_IGNORE);                                                             \
    }
BLOCKING_SEND(Send, Isend)
BLOCKING_SEND(Ssend, Issend)
BLOCKING_SEND(Rsend, Irsend)

THENCE_EXPORT int MPI_Recv(void *buf, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
                           MPI_Status *status) {
    if (!by_testing()) [[likely]] {
        return PMPI_Recv(buf, count, type, source, tag, comm, status);
    }
    MPI_Request request = MPI_REQUEST_NULL;
    const int code = PMPI_Irecv(buf, count, type, source, tag, comm, &request);
    return complete(code, request, status);
}

THENCE_EXPORT int MPI_Sendrecv(const void *sendbuf, int sendcount, MPI_Datatype sendtype, int dest, int sendtag,
                               void *recvbuf, int recvcount, MPI_Datatype recvtype, int source, int recvtag,
                               MPI_Comm comm, MPI_Status *status) {
    if (!by_testing()) [[likely]] {
        return PMPI_Sendrecv(sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, recvtype, source, recvtag,
                             comm, status);
    }
    MPI_Request receive = MPI_REQUEST_NULL;
    MPI_Request send = MPI_REQUEST_NULL;
    int code = PMPI_Irecv(recvbuf, recvcount, recvtype, source, recvtag, comm, &receive);
    if (code != MPI_SUCCESS) {
        return code;
    }
    code = PMPI_Isend(sendbuf, sendcount, sendtype, dest, sendtag, comm, &send);
    if (code != MPI_SUCCESS) {
        PMPI_Cancel(&receive); // nothing may write into the buffer after we return
        complete(MPI_SUCCESS, receive, MPI_STATUS_IGNORE);
        return code;
    }
    const int received = complete(MPI_SUCCESS, receive, status);
    const int sent = complete(MPI_SUCCESS, send, MPI_STATUS_IGNORE);
    return received != MPI_SUCCESS ? received : sent;
}

THENCE_EXPORT int MPI_Probe(int source, int tag, MPI_Comm comm, MPI_Status *status) {
    if (!by_testing()) [[likely]] {
        return PMPI_Probe(source, tag, comm, status);
    }
    int flag = 0;
    for (unsigned turns = 0;; take_turn(++turns)) {
        const int code = PMPI_Iprobe(source, tag, comm, &flag, status);
        if (flag != 0 || code != MPI_SUCCESS) {
            return code;
        }
    }
}

// Not blocking, but where MPI makes progress, and so where continuations run.
THENCE_EXPORT int MPI_Iprobe(int source, int tag, MPI_Comm comm, int *flag, MPI_Status *status) {
    const int code = PMPI_Iprobe(source, tag, comm, flag, status);
    if (attention.load(std::memory_order_relaxed) != 0) [[unlikely]] {
        catch_up();
    }
    return code;
}

THENCE_EXPORT int MPI_Mprobe(int source, int tag, MPI_Comm comm, MPI_Message *message, MPI_Status *status) {
    if (!by_testing()) [[likely]] {
        return PMPI_Mprobe(source, tag, comm, message, status);
    }
    int flag = 0;
    for (unsigned turns = 0;; take_turn(++turns)) {
        const int code = PMPI_Improbe(source, tag, comm, &flag, message, status);
        if (flag != 0 || code != MPI_SUCCESS) {
            return code;
        }
    }
}

} // extern "C"
