// SPDX-License-Identifier: BSD-3-Clause
// Blocking point-to-point calls. If a call must not block inside MPI, its nonblocking form is called, and a strategy
// waits for that (interpose/waiting/wait_strategy.hpp). Else MPI's own function is called.
//
// On a communicator of a stream with a queue, MPI_Send and MPI_Recv are enqueued (thence/enqueue.h), the others
// refused.
//
// A call with arguments that MPI refuses starts nothing and fails as MPI's own does. MPICH 5 returns MPI_SUCCESS once
// an error handler of the user has been called, so a failure is detected by an output that the call has not set.
#include "interpose/calls/arguments.hpp"
#include "interpose/calls/next.hpp"
#include "interpose/calls/on_stream.hpp"
#include "interpose/calls/on_threadcomm.hpp"
#include "interpose/requests/communicators.hpp"
#include "interpose/requests/only_counted.hpp"
#include "interpose/waiting/wait_strategy.hpp"
#include "mpix/streams/communicator.hpp"

#include <thence/enqueue.h>
#include <thence/thence.h>

#include <algorithm>
#include <climits>
#include <memory>
#include <new>
#include <type_traits>

using namespace thence::interpose;
using thence::pmpi::refused_status;
using thence::pmpi::untouched;
using thence::streams::refuse_on_queue;
using thence::streams::serial_call;
namespace threadcomm = thence::threadcomm;

namespace {

// `code`: the result of the call that started the operation. `where`: the address to which the interposed call returns,
// since all of these functions are inlined into it.
int complete(const wait_strategy &how, int code, MPI_Request request, MPI_Status *status,
             const void *where = __builtin_return_address(0)) {
    // If there is no request, MPI refused that call, even if it returned MPI_SUCCESS.
    return code == MPI_SUCCESS && request != MPI_REQUEST_NULL ? how.complete(&request, status, where) : code;
}

int enqueue_send(const void *buf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm) {
    return thence_send_enqueue(buf, count, type, dest, tag, comm);
}
int enqueue_receive(void *buf, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Status *status) {
    return thence_recv_enqueue(buf, count, type, source, tag, comm, status);
}
#if defined(THENCE_MPI_LARGE_COUNTS)
int enqueue_send(const void *buf, MPI_Count count, MPI_Datatype type, int dest, int tag, MPI_Comm comm) {
    return thence_send_enqueue_c(buf, count, type, dest, tag, comm);
}
int enqueue_receive(void *buf, MPI_Count count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
                    MPI_Status *status) {
    return thence_recv_enqueue_c(buf, count, type, source, tag, comm, status);
}
#endif

// For reports.
described_call receiving(const char *call, int source, int tag, MPI_Comm comm, const void *where) {
    return {.name = call,
            .where = where,
            .comm = comm,
            .what = described_call::about::receives_from,
            .number = source,
            .tag = tag};
}

// Each form exists with counts of type int and, if the MPI has it, of type MPI_Count. Both use the same code. `call`:
// its name, for errors. They are inlined, since they take the address to which the interposed call returns.

template <auto blocking, auto nonblocking, class Count>
[[gnu::always_inline]] inline int send(const char *call, threadcomm::mode mode, const void *buf, Count count,
                                       MPI_Datatype type, int dest, int tag, MPI_Comm comm) {
    if (calls_only_count()) {
        return count_blocking([&] { return (*blocking)(buf, count, type, dest, tag, comm); });
    }
    const serial_call on_stream(call, comm);
    if (auto *const threads = threadcomm::find_if_any(comm)) {
        return threadcomm::send(call, *threads, mode, {buf, count, type, dest, tag});
    }
    if (thence::streams::has_queue_if_any(comm)) {
        return mode == threadcomm::mode::standard ? enqueue_send(buf, count, type, dest, tag, comm)
                                                  : refuse_on_queue(call, comm);
    }
    const thence::interpose::blocking_call blocks({.name = call,
                                                   .where = __builtin_return_address(0),
                                                   .comm = comm,
                                                   .what = described_call::about::sends_to,
                                                   .number = dest,
                                                   .tag = tag});
    const wait_strategy *how = find_strategy(call);
    if (how == nullptr) {
        return (*blocking)(buf, count, type, dest, tag, comm);
    }
    MPI_Request request = MPI_REQUEST_NULL;
    const int code = (*nonblocking)(buf, count, type, dest, tag, comm, &request);
    return complete(*how, code, request, MPI_STATUS_IGNORE);
}

template <auto blocking, auto nonblocking, class Count>
[[gnu::always_inline]] inline int receive(const char *call, void *buf, Count count, MPI_Datatype type, int source,
                                          int tag, MPI_Comm comm, MPI_Status *status) {
    if (calls_only_count()) {
        return count_blocking([&] { return (*blocking)(buf, count, type, source, tag, comm, status); });
    }
    const serial_call on_stream(call, comm);
    if (auto *const threads = threadcomm::find_if_any(comm)) {
        return threadcomm::receive(call, *threads, {buf, count, type, source, tag}, status);
    }
    if (thence::streams::has_queue_if_any(comm)) {
        return enqueue_receive(buf, count, type, source, tag, comm, status);
    }
    const thence::interpose::blocking_call blocks(receiving(call, source, tag, comm, __builtin_return_address(0)));
    const wait_strategy *how = find_strategy(call);
    if (how == nullptr || refused_status(status)) {
        return (*blocking)(buf, count, type, source, tag, comm, status);
    }
    MPI_Request request = MPI_REQUEST_NULL;
    const int code = (*nonblocking)(buf, count, type, source, tag, comm, &request);
    return complete(*how, code, request, status);
}

template <auto blocking, auto nonblocking, class Count>
[[gnu::always_inline]] inline int receive_matched(const char *call, void *buf, Count count, MPI_Datatype type,
                                                  MPI_Message *message, MPI_Status *status) {
    if (is_plain()) [[likely]] {
        return (*blocking)(buf, count, type, message, status);
    }
    if (message != nullptr && threadcomm::any_alive() && threadcomm::is_own(*message)) {
        return threadcomm::receive_matched(call, {buf, count, type, 0, 0}, message, status, nullptr);
    }
    const thence::interpose::blocking_call blocks({.name = call, .where = __builtin_return_address(0)});
    const wait_strategy *how = find_strategy(call);
    if (how == nullptr || refused_status(status)) {
        return (*blocking)(buf, count, type, message, status);
    }
    MPI_Request request = MPI_REQUEST_NULL;
    const int code = (*nonblocking)(buf, count, type, message, &request);
    return complete(*how, code, request, status);
}

// A persistent send is created first, so that MPI checks the arguments of the send before a receive can match.
template <class Irecv, class SendInit, class Isend>
int exchange(const wait_strategy &how, Irecv irecv, SendInit send_init, Isend isend, MPI_Status *status,
             const void *where) {
    MPI_Request checked = MPI_REQUEST_NULL;
    if (const int code = send_init(&checked); code != MPI_SUCCESS || checked == MPI_REQUEST_NULL) {
        return code;
    }
    PMPI_Request_free(&checked);
    MPI_Request receiving = MPI_REQUEST_NULL;
    if (const int code = irecv(&receiving); code != MPI_SUCCESS || receiving == MPI_REQUEST_NULL) {
        return code;
    }
    MPI_Request sending = MPI_REQUEST_NULL;
    if (const int code = isend(&sending); code != MPI_SUCCESS || sending == MPI_REQUEST_NULL) {
        cancel(&receiving, &PMPI_Cancel); // nothing may write into the buffer after we return
        how.complete(&receiving, MPI_STATUS_IGNORE, where);
        return code;
    }
    const int received = how.complete(&receiving, status, where);
    const int sent = how.complete(&sending, MPI_STATUS_IGNORE, where);
    return received != MPI_SUCCESS ? received : sent;
}

template <auto blocking, auto send_init, auto isend, auto irecv, class Count>
[[gnu::always_inline]] inline int send_receive(const char *call, const void *sendbuf, Count sendcount,
                                               MPI_Datatype sendtype, int dest, int sendtag, void *recvbuf,
                                               Count recvcount, MPI_Datatype recvtype, int source, int recvtag,
                                               MPI_Comm comm, MPI_Status *status) {
    if (is_plain()) [[likely]] {
        return (*blocking)(sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, recvtype, source, recvtag,
                           comm, status);
    }
    const serial_call on_stream(call, comm);
    if (auto *const threads = threadcomm::find_if_any(comm)) {
        return threadcomm::send_receive(call, *threads, {sendbuf, sendcount, sendtype, dest, sendtag},
                                        {recvbuf, recvcount, recvtype, source, recvtag}, status);
    }
    if (thence::streams::has_queue_if_any(comm)) {
        return refuse_on_queue(call, comm);
    }
    const thence::interpose::blocking_call blocks(receiving(call, source, recvtag, comm, __builtin_return_address(0)));
    const wait_strategy *how = find_strategy(call);
    if (how == nullptr || refused_status(status)) {
        return (*blocking)(sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, recvtype, source, recvtag,
                           comm, status);
    }
    return exchange(
        *how, [&](MPI_Request *r) { return irecv(recvbuf, recvcount, recvtype, source, recvtag, comm, r); },
        [&](MPI_Request *r) { return send_init(sendbuf, sendcount, sendtype, dest, sendtag, comm, r); },
        [&](MPI_Request *r) { return isend(sendbuf, sendcount, sendtype, dest, sendtag, comm, r); }, status,
        __builtin_return_address(0));
}

// Whether so many elements are fewer bytes than an int counts. Where not, MPI_Pack_size of Open MPI gives the rest.
bool fits_int(MPI_Count count, MPI_Datatype type) noexcept {
    MPI_Count size = 0;
    return PMPI_Type_size_x(type, &size) == MPI_SUCCESS && size >= 0 && count <= INT_MAX / std::max<MPI_Count>(size, 1);
}

// The data to send is packed first, so that the receive may overwrite the buffer. Packed data matches every type.
template <auto blocking, auto pack_size, auto pack, auto send_init, auto isend, auto irecv, class Count>
[[gnu::always_inline]] inline int send_receive_replacing(const char *call, void *buf, Count count, MPI_Datatype type,
                                                         int dest, int sendtag, int source, int recvtag, MPI_Comm comm,
                                                         MPI_Status *status) {
    if (is_plain()) [[likely]] {
        return (*blocking)(buf, count, type, dest, sendtag, source, recvtag, comm, status);
    }
    const serial_call on_stream(call, comm);
    if (auto *const threads = threadcomm::find_if_any(comm)) {
        return threadcomm::send_receive_replace(call, *threads, {buf, count, type, dest, sendtag}, source, recvtag,
                                                status);
    }
    if (thence::streams::has_queue_if_any(comm)) {
        return refuse_on_queue(call, comm);
    }
    const thence::interpose::blocking_call blocks(receiving(call, source, recvtag, comm, __builtin_return_address(0)));
    const wait_strategy *how = find_strategy(call);
    if (how == nullptr || refused_status(status)) {
        return (*blocking)(buf, count, type, dest, sendtag, source, recvtag, comm, status);
    }
    MPI_Request checked = MPI_REQUEST_NULL; // MPI checks the original arguments
    if (const int code = send_init(buf, count, type, dest, sendtag, comm, &checked);
        code != MPI_SUCCESS || checked == MPI_REQUEST_NULL) {
        return code;
    }
    PMPI_Request_free(&checked);
    Count room = 0;
    const bool fits = !std::is_same_v<Count, int> || fits_int(count, type);
    if (const int code = fits ? pack_size(count, type, comm, &room) : MPI_SUCCESS; code != MPI_SUCCESS) {
        return code;
    }
    const std::unique_ptr<char[]> packed(fits ? new (std::nothrow) char[static_cast<std::size_t>(room)] : nullptr);
    if (packed == nullptr) {
        const progress_beside while_it_lasts(call);
        return (*blocking)(buf, count, type, dest, sendtag, source, recvtag, comm, status);
    }
    Count length = 0;
    if (const int code = pack(buf, count, type, packed.get(), room, &length, comm); code != MPI_SUCCESS) {
        return code;
    }
    return exchange(
        *how, [&](MPI_Request *r) { return irecv(buf, count, type, source, recvtag, comm, r); },
        [&](MPI_Request *r) { return send_init(packed.get(), length, MPI_PACKED, dest, sendtag, comm, r); },
        [&](MPI_Request *r) { return isend(packed.get(), length, MPI_PACKED, dest, sendtag, comm, r); }, status,
        __builtin_return_address(0));
}

} // namespace

extern "C" {

// Apart, so that a call with nothing else to do saves no registers: it is a test and a jump to MPI. These are jumped
// to, so they return to the user's code.
#define THENCE_OTHERWISE static __attribute__((noinline))

// MPI_Bsend is not here: it only copies.
#define SEND(name, nonblocking, send_mode, c, count_t)                                                                 \
    THENCE_OTHERWISE int name##c##_otherwise(const void *buf, count_t count, MPI_Datatype type, int dest, int tag,     \
                                             MPI_Comm comm) {                                                          \
        return send<&THENCE_NEXT(name##c), &PMPI_##nonblocking##c>("MPI_" #name #c, threadcomm::mode::send_mode, buf,  \
                                                                   count, type, dest, tag, comm);                      \
    }                                                                                                                  \
    THENCE_EXPORT int MPI_##name##c(const void *buf, count_t count, MPI_Datatype type, int dest, int tag,              \
                                    MPI_Comm comm) {                                                                   \
        if (is_plain()) [[likely]] {                                                                                   \
            return THENCE_NEXT(name##c)(buf, count, type, dest, tag, comm);                                            \
        }                                                                                                              \
        return name##c##_otherwise(buf, count, type, dest, tag, comm);                                                 \
    }
#define BLOCKING(c, count_t)                                                                                           \
    SEND(Send, Isend, standard, c, count_t)                                                                            \
    SEND(Ssend, Issend, synchronous, c, count_t)                                                                       \
    SEND(Rsend, Irsend, ready, c, count_t)                                                                             \
    THENCE_OTHERWISE int Recv##c##_otherwise(void *buf, count_t count, MPI_Datatype type, int source, int tag,         \
                                             MPI_Comm comm, MPI_Status *status) {                                      \
        return receive<&THENCE_NEXT(Recv##c), &PMPI_Irecv##c>("MPI_Recv" #c, buf, count, type, source, tag, comm,      \
                                                              status);                                                 \
    }                                                                                                                  \
    THENCE_EXPORT int MPI_Recv##c(void *buf, count_t count, MPI_Datatype type, int source, int tag, MPI_Comm comm,     \
                                  MPI_Status *status) {                                                                \
        if (is_plain()) [[likely]] {                                                                                   \
            return THENCE_NEXT(Recv##c)(buf, count, type, source, tag, comm, status);                                  \
        }                                                                                                              \
        return Recv##c##_otherwise(buf, count, type, source, tag, comm, status);                                       \
    }                                                                                                                  \
    THENCE_EXPORT int MPI_Mrecv##c(void *buf, count_t count, MPI_Datatype type, MPI_Message *message,                  \
                                   MPI_Status *status) {                                                               \
        return receive_matched<&THENCE_NEXT(Mrecv##c), &PMPI_Imrecv##c>("MPI_Mrecv" #c, buf, count, type, message,     \
                                                                        status);                                       \
    }                                                                                                                  \
    THENCE_EXPORT int MPI_Sendrecv##c(const void *sendbuf, count_t sendcount, MPI_Datatype sendtype, int dest,         \
                                      int sendtag, void *recvbuf, count_t recvcount, MPI_Datatype recvtype,            \
                                      int source, int recvtag, MPI_Comm comm, MPI_Status *status) {                    \
        return send_receive<&THENCE_NEXT(Sendrecv##c), &PMPI_Send_init##c, &PMPI_Isend##c, &PMPI_Irecv##c>(            \
            "MPI_Sendrecv" #c, sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, recvtype, source,      \
            recvtag, comm, status);                                                                                    \
    }                                                                                                                  \
    THENCE_EXPORT int MPI_Sendrecv_replace##c(void *buf, count_t count, MPI_Datatype type, int dest, int sendtag,      \
                                              int source, int recvtag, MPI_Comm comm, MPI_Status *status) {            \
        return send_receive_replacing<&THENCE_NEXT(Sendrecv_replace##c), &PMPI_Pack_size##c, &PMPI_Pack##c,            \
                                      &PMPI_Send_init##c, &PMPI_Isend##c, &PMPI_Irecv##c>(                             \
            "MPI_Sendrecv_replace" #c, buf, count, type, dest, sendtag, source, recvtag, comm, status);                \
    }
BLOCKING(, int)
#if defined(THENCE_MPI_LARGE_COUNTS)
BLOCKING(_c, MPI_Count)
#endif

THENCE_EXPORT int MPI_Probe(int source, int tag, MPI_Comm comm, MPI_Status *status) {
    if (is_plain()) [[likely]] {
        return THENCE_NEXT(Probe)(source, tag, comm, status);
    }
    const serial_call on_stream("MPI_Probe", comm);
    if (auto *const threads = threadcomm::find_if_any(comm)) {
        return threadcomm::probe("MPI_Probe", *threads, source, tag, nullptr, status);
    }
    if (thence::streams::has_queue_if_any(comm)) {
        return refuse_on_queue("MPI_Probe", comm);
    }
    const thence::interpose::blocking_call blocks(
        receiving("MPI_Probe", source, tag, comm, __builtin_return_address(0)));
    const wait_strategy *how = find_strategy("MPI_Probe");
    if (how == nullptr) {
        return THENCE_NEXT(Probe)(source, tag, comm, status);
    }
    for (polling_call call("MPI_Probe", __builtin_return_address(0));; how->pause(call)) {
        int flag = untouched;
        const int code = PMPI_Iprobe(source, tag, comm, &flag, status);
        if (flag != 0 || code != MPI_SUCCESS) {
            return code;
        }
    }
}

// It does not block, but MPI makes progress in it, so continuations run in it too.
THENCE_EXPORT int MPI_Iprobe(int source, int tag, MPI_Comm comm, int *flag, MPI_Status *status) {
    if (auto *const threads = threadcomm::find_if_any(comm)) [[unlikely]] {
        return threadcomm::probe("MPI_Iprobe", *threads, source, tag, flag, status);
    }
    const asking_call asks("MPI_Iprobe", call_kind::tests);
    const int code = thence::pmpi::call_on<&THENCE_NEXT(Iprobe)>("MPI_Iprobe", comm, source, tag, comm, flag, status);
    if (!is_plain()) [[unlikely]] {
        catch_up();
    }
    return code;
}

THENCE_EXPORT int MPI_Mprobe(int source, int tag, MPI_Comm comm, MPI_Message *message, MPI_Status *status) {
    if (is_plain()) [[likely]] {
        return THENCE_NEXT(Mprobe)(source, tag, comm, message, status);
    }
    const serial_call on_stream("MPI_Mprobe", comm);
    if (auto *const threads = threadcomm::find_if_any(comm)) {
        return threadcomm::matched_probe("MPI_Mprobe", *threads, source, tag, nullptr, message, status);
    }
    if (thence::streams::has_queue_if_any(comm)) {
        return refuse_on_queue("MPI_Mprobe", comm);
    }
    const thence::interpose::blocking_call blocks(
        receiving("MPI_Mprobe", source, tag, comm, __builtin_return_address(0)));
    const wait_strategy *how = find_strategy("MPI_Mprobe");
    if (how == nullptr) {
        return THENCE_NEXT(Mprobe)(source, tag, comm, message, status);
    }
    for (polling_call call("MPI_Mprobe", __builtin_return_address(0));; how->pause(call)) {
        int flag = untouched;
        const int code = PMPI_Improbe(source, tag, comm, &flag, message, status);
        if (flag != 0 || code != MPI_SUCCESS) {
            return code;
        }
    }
}

} // extern "C"
