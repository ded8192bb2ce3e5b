// SPDX-License-Identifier: BSD-3-Clause
// Nonblocking point-to-point calls, which are interposed only because the communicator may be a thread communicator, or
// that of a stream. On that of a stream with a queue MPI_Isend and MPI_Irecv are enqueued, and the others refused.
// (Blocking ones are in blocking.cpp.)
#include "interpose/calls/next.hpp"
#include "interpose/calls/on_stream.hpp"
#include "interpose/calls/on_threadcomm.hpp"
#include "interpose/requests/communicators.hpp"
#include "interpose/requests/only_counted.hpp"

#include <thence/enqueue.h>
#include <thence/thence.h>

namespace threadcomm = thence::threadcomm;

namespace {

// On a communicator of a stream with a queue.
int enqueue_send(const void *buf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
                 MPI_Request *request) {
    return thence_isend_enqueue(buf, count, type, dest, tag, comm, request);
}
int enqueue_receive(void *buf, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Request *request) {
    return thence_irecv_enqueue(buf, count, type, source, tag, comm, request);
}
#if defined(THENCE_MPI_LARGE_COUNTS)
int enqueue_send(const void *buf, MPI_Count count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
                 MPI_Request *request) {
    return thence_isend_enqueue_c(buf, count, type, dest, tag, comm, request);
}
int enqueue_receive(void *buf, MPI_Count count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
                    MPI_Request *request) {
    return thence_irecv_enqueue_c(buf, count, type, source, tag, comm, request);
}
#endif

} // namespace

extern "C" {

// Apart, so that a call with no reason to look at its communicator saves no registers: it is a test and a jump to MPI.
#define THENCE_OTHERWISE static __attribute__((noinline, cold))

#define NONBLOCKING_SEND(name, send_mode, c, count_t)                                                                  \
    THENCE_OTHERWISE int name##c##_otherwise(const void *buf, count_t count, MPI_Datatype type, int dest, int tag,     \
                                             MPI_Comm comm, MPI_Request *request) {                                    \
        if (auto *const threads = threadcomm::find_if_any(comm)) {                                                     \
            return threadcomm::isend("MPI_" #name #c, *threads, threadcomm::mode::send_mode,                           \
                                     {buf, count, type, dest, tag}, request);                                          \
        }                                                                                                              \
        if (threadcomm::mode::send_mode == threadcomm::mode::standard && thence::streams::has_queue_if_any(comm)) {    \
            return enqueue_send(buf, count, type, dest, tag, comm, request);                                           \
        }                                                                                                              \
        return thence::pmpi::start_on<&THENCE_NEXT(name##c)>("MPI_" #name #c, comm, request, buf, count, type, dest,   \
                                                             tag, comm);                                               \
    }                                                                                                                  \
    static __attribute__((noinline)) int name##c##_counted(const void *buf, count_t count, MPI_Datatype type,          \
                                                           int dest, int tag, MPI_Comm comm, MPI_Request *request) {   \
        if (!thence::interpose::calls_only_count()) [[unlikely]] {                                                     \
            return name##c##_otherwise(buf, count, type, dest, tag, comm, request);                                    \
        }                                                                                                              \
        return thence::interpose::count_started(                                                                       \
            request, [&] { return THENCE_NEXT(name##c)(buf, count, type, dest, tag, comm, request); });                \
    }                                                                                                                  \
    THENCE_EXPORT int MPI_##name##c(const void *buf, count_t count, MPI_Datatype type, int dest, int tag,              \
                                    MPI_Comm comm, MPI_Request *request) {                                             \
        if (!thence::interpose::communicators_matter()) [[likely]] {                                                   \
            return THENCE_NEXT(name##c)(buf, count, type, dest, tag, comm, request);                                   \
        }                                                                                                              \
        return name##c##_counted(buf, count, type, dest, tag, comm, request);                                          \
    }
#define NONBLOCKING(c, count_t)                                                                                        \
    NONBLOCKING_SEND(Isend, standard, c, count_t)                                                                      \
    NONBLOCKING_SEND(Issend, synchronous, c, count_t)                                                                  \
    NONBLOCKING_SEND(Irsend, ready, c, count_t)                                                                        \
    NONBLOCKING_SEND(Ibsend, buffered, c, count_t)                                                                     \
    THENCE_EXPORT int MPI_Bsend##c(const void *buf, count_t count, MPI_Datatype type, int dest, int tag,               \
                                   MPI_Comm comm) {                                                                    \
        if (auto *const threads = threadcomm::find_if_any(comm)) [[unlikely]] {                                        \
            return threadcomm::send("MPI_Bsend" #c, *threads, threadcomm::mode::buffered,                              \
                                    {buf, count, type, dest, tag});                                                    \
        }                                                                                                              \
        const thence::interpose::asking_call only_copies("MPI_Bsend" #c, thence::interpose::call_kind::starts);        \
        return thence::pmpi::call_on<&THENCE_NEXT(Bsend##c)>("MPI_Bsend" #c, comm, buf, count, type, dest, tag, comm); \
    }                                                                                                                  \
    THENCE_OTHERWISE int Irecv##c##_otherwise(void *buf, count_t count, MPI_Datatype type, int source, int tag,        \
                                              MPI_Comm comm, MPI_Request *request) {                                   \
        if (auto *const threads = threadcomm::find_if_any(comm)) {                                                     \
            return threadcomm::ireceive("MPI_Irecv" #c, *threads, {buf, count, type, source, tag}, request);           \
        }                                                                                                              \
        if (thence::streams::has_queue_if_any(comm)) {                                                                 \
            return enqueue_receive(buf, count, type, source, tag, comm, request);                                      \
        }                                                                                                              \
        return thence::pmpi::start_on<&THENCE_NEXT(Irecv##c)>("MPI_Irecv" #c, comm, request, buf, count, type, source, \
                                                              tag, comm);                                              \
    }                                                                                                                  \
    static __attribute__((noinline)) int Irecv##c##_counted(void *buf, count_t count, MPI_Datatype type, int source,   \
                                                            int tag, MPI_Comm comm, MPI_Request *request) {            \
        if (!thence::interpose::calls_only_count()) [[unlikely]] {                                                     \
            return Irecv##c##_otherwise(buf, count, type, source, tag, comm, request);                                 \
        }                                                                                                              \
        return thence::interpose::count_started(                                                                       \
            request, [&] { return THENCE_NEXT(Irecv##c)(buf, count, type, source, tag, comm, request); });             \
    }                                                                                                                  \
    THENCE_EXPORT int MPI_Irecv##c(void *buf, count_t count, MPI_Datatype type, int source, int tag, MPI_Comm comm,    \
                                   MPI_Request *request) {                                                             \
        if (!thence::interpose::communicators_matter()) [[likely]] {                                                   \
            return THENCE_NEXT(Irecv##c)(buf, count, type, source, tag, comm, request);                                \
        }                                                                                                              \
        return Irecv##c##_counted(buf, count, type, source, tag, comm, request);                                       \
    }                                                                                                                  \
    THENCE_EXPORT int MPI_Imrecv##c(void *buf, count_t count, MPI_Datatype type, MPI_Message *message,                 \
                                    MPI_Request *request) {                                                            \
        if (threadcomm::any_alive() && message != nullptr && threadcomm::is_own(*message)) [[unlikely]] {              \
            return threadcomm::receive_matched("MPI_Imrecv" #c, {buf, count, type, 0, 0}, message, MPI_STATUS_IGNORE,  \
                                               request);                                                               \
        }                                                                                                              \
        return thence::pmpi::start_on<&THENCE_NEXT(Imrecv##c)>("MPI_Imrecv" #c, MPI_COMM_NULL, request, buf, count,    \
                                                               type, message);                                         \
    }
#define BOTH_WAYS(c, count_t)                                                                                          \
    THENCE_EXPORT int MPI_Isendrecv##c(const void *out, count_t n, MPI_Datatype type, int dest, int tag, void *in,     \
                                       count_t m, MPI_Datatype recv_type, int source, int recv_tag, MPI_Comm comm,     \
                                       MPI_Request *request) {                                                         \
        if (auto *const threads = threadcomm::find_if_any(comm)) [[unlikely]] {                                        \
            return threadcomm::isend_receive("MPI_Isendrecv" #c, *threads, {out, n, type, dest, tag},                  \
                                             {in, m, recv_type, source, recv_tag}, request);                           \
        }                                                                                                              \
        return thence::pmpi::start_on<&THENCE_NEXT(Isendrecv##c)>(                                                     \
            "MPI_Isendrecv" #c, comm, request, out, n, type, dest, tag, in, m, recv_type, source, recv_tag, comm);     \
    }                                                                                                                  \
    THENCE_EXPORT int MPI_Isendrecv_replace##c(void *buf, count_t n, MPI_Datatype type, int dest, int tag, int source, \
                                               int recv_tag, MPI_Comm comm, MPI_Request *request) {                    \
        if (auto *const threads = threadcomm::find_if_any(comm)) [[unlikely]] {                                        \
            return threadcomm::isend_receive("MPI_Isendrecv_replace" #c, *threads, {buf, n, type, dest, tag},          \
                                             {buf, n, type, source, recv_tag}, request);                               \
        }                                                                                                              \
        return thence::pmpi::start_on<&THENCE_NEXT(Isendrecv_replace##c)>(                                             \
            "MPI_Isendrecv_replace" #c, comm, request, buf, n, type, dest, tag, source, recv_tag, comm);               \
    }
NONBLOCKING(, int)
#if defined(THENCE_MPI_ISENDRECV)
BOTH_WAYS(, int)
#endif
#if defined(THENCE_MPI_ISENDRECV) && defined(THENCE_MPI_LARGE_COUNTS)
BOTH_WAYS(_c, MPI_Count)
#endif
#if defined(THENCE_MPI_LARGE_COUNTS)
NONBLOCKING(_c, MPI_Count)
#endif

THENCE_EXPORT int MPI_Improbe(int source, int tag, MPI_Comm comm, int *flag, MPI_Message *message, MPI_Status *status) {
    if (auto *const threads = threadcomm::find_if_any(comm)) [[unlikely]] {
        return threadcomm::matched_probe("MPI_Improbe", *threads, source, tag, flag, message, status);
    }
    const thence::interpose::asking_call asks("MPI_Improbe", thence::interpose::call_kind::tests);
    return thence::pmpi::call_on<&THENCE_NEXT(Improbe)>("MPI_Improbe", comm, source, tag, comm, flag, message, status);
}

} // extern "C"
