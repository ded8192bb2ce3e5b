/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/** @file TAMPI.h
 *  @brief The interface of TAMPI (Task-Aware MPI) on any MPI and any task runtime. C and C++; library libthence-tampi.
 *
 *  Two modes, each on its own:
 *  - *Nonblocking mode*, where MPI is initialized with MPI_THREAD_MULTIPLE or `MPI_TASK_MULTIPLE`: TAMPI_Iwait(),
 *    TAMPI_Iwaitall() and the wrappers `TAMPI_I...` bind operations to the calling task. What depends on the task
 *    starts after its body has ended and these operations are complete.
 *  - *Blocking mode*, where MPI_Init_thread() provides `MPI_TASK_MULTIPLE`: a blocking call of MPI in a task blocks the
 *    task, and the worker runs other tasks meanwhile. thence_task_blocking_calls() of <thence/task_runtime.h> says
 *    which calls.
 *
 *  The tasks are those of a runtime with ALPI in the process (nOS-V, Nanos6, libthence-alpi), which is found by itself
 *  in MPI_Init, and of every runtime that the program has added with thence_task_runtime_add(). In what follows *a
 *  task* is a task of such a runtime that has events, on a thread that is task-aware, in nonblocking mode. Anywhere
 *  else is *outside of a task*.
 *
 *  The interface is that of TAMPI 3.0.1. For that of TAMPI 4.0 and 4.1, `#define TAMPI_VERSION_MAJOR 4` before the
 *  include: their wrappers have no parameter for the request, and TAMPI_Wait() and TAMPI_Waitall() do not exist.
 *
 *  Every function returns `MPI_SUCCESS` or an MPI error code. *Returns `MPI_ERR_ARG`* means a code of that class. A bad
 *  argument is reported through the error handler of `MPI_COMM_WORLD`, and changes nothing. The failure of an operation
 *  meets the error handler of its own object. If it fails after the call has returned, the runtime gets the error with
 *  the event (ALPI passes no error), and the field `MPI_ERROR` of the status has it.
 *
 *  Source: Sala et al. 2021, "Combining one-sided communications with task-based programming models", section 2; README
 *  of TAMPI 3.0.1 and 4.1. */

#include <mpi.h>
#include <stddef.h>

#if !defined(TAMPI_VERSION_MAJOR)
#define TAMPI_VERSION_MAJOR 3
#endif
#if !defined(TAMPI_VERSION_MINOR)
#define TAMPI_VERSION_MINOR 0
#endif
#if TAMPI_VERSION_MAJOR != 3 && TAMPI_VERSION_MAJOR != 4
#error "TAMPI_VERSION_MAJOR has to be 3 or 4"
#endif

#if defined(__GNUC__)
#define TAMPI_EXPORT_ __attribute__((visibility("default")))
#else
#define TAMPI_EXPORT_
#endif

/** The level of thread support, above MPI_THREAD_MULTIPLE, that asks MPI_Init_thread() for blocking mode. `provided` is
 *  this too if it is on, and MPI_THREAD_MULTIPLE if no runtime is there that can block tasks. */
#define MPI_TASK_MULTIPLE (MPI_THREAD_MULTIPLE + 1)

/* Properties, for TAMPI_Property_get() and TAMPI_Property_set(). Each is 0 or 1. */
#define TAMPI_PROPERTY_BLOCKING_MODE 0x1    /**< 1 if blocking mode is on; read only */
#define TAMPI_PROPERTY_NONBLOCKING_MODE 0x2 /**< 1 if nonblocking mode is on; read only */
#define TAMPI_PROPERTY_AUTO_INIT 0x3        /**< MPI_Init and MPI_Init_thread start the library; 1 at first */
#define TAMPI_PROPERTY_THREAD_TASKAWARE 0x4 /**< the calling thread is task-aware; 1 at first, on each thread */

#ifdef __cplusplus
extern "C" {
#endif

/** @brief Read a property.
 *  @param property   a `TAMPI_PROPERTY_` constant.
 *  @param[out] value 0 or 1.
 *  @return `MPI_ERR_ARG` (unknown property, null `value`).
 *  @note Threads: any. May be called before MPI_Init. */
TAMPI_EXPORT_ int TAMPI_Property_get(int property, int *value);

/** @brief Set a property.
 *  @param property `TAMPI_PROPERTY_AUTO_INIT`, before MPI_Init only, or `TAMPI_PROPERTY_THREAD_TASKAWARE`, which
 *                  concerns the calling thread: where it is 0, blocking calls block the thread, and it is outside of a
 *                  task.
 *  @param value    0 or 1.
 *  @return `MPI_ERR_ARG` (unknown or read-only property, another value); `MPI_ERR_OTHER` (`TAMPI_PROPERTY_AUTO_INIT`
 *          after MPI_Init): nothing has changed.
 *  @note Threads: any. */
TAMPI_EXPORT_ int TAMPI_Property_set(int property, int value);

/** @brief Start the library, if `TAMPI_PROPERTY_AUTO_INIT` is 0: after MPI_Init_thread() with MPI_THREAD_MULTIPLE.
 *  @param required      `MPI_TASK_MULTIPLE` for both modes, MPI_THREAD_MULTIPLE for nonblocking mode.
 *  @param[out] provided `MPI_TASK_MULTIPLE` if blocking mode is on; else the level that MPI has.
 *  @return `MPI_ERR_ARG` (null `provided`); `MPI_ERR_OTHER` (`TAMPI_PROPERTY_AUTO_INIT` is 1, started already, MPI is
 *          not active).
 *  @note Threads: one, and nobody else is in a call of MPI. */
TAMPI_EXPORT_ int TAMPI_Init(int required, int *provided);

/** @brief Stop the library, if `TAMPI_PROPERTY_AUTO_INIT` is 0: before MPI_Finalize(), which otherwise does it.
 *  @return `MPI_ERR_OTHER` (`TAMPI_PROPERTY_AUTO_INIT` is 1, not started); `MPI_ERR_PENDING` (operations of tasks are
 *          outstanding): nothing has changed.
 *  @note Threads: one, and nobody else is in a call of MPI. */
TAMPI_EXPORT_ int TAMPI_Finalize(void);

/** @brief Say whether blocking mode is on.
 *  @param[out] flag 0 or 1.
 *  @return `MPI_ERR_ARG` (null `flag`).
 *  @note Threads: any. */
TAMPI_EXPORT_ int TAMPI_Blocking_enabled(int *flag);

/** @brief Say whether nonblocking mode is on.
 *  @param[out] flag 0 or 1.
 *  @return `MPI_ERR_ARG` (null `flag`).
 *  @note Threads: any. */
TAMPI_EXPORT_ int TAMPI_Nonblocking_enabled(int *flag);

/** @brief Bind an operation to the calling task: what depends on the task starts after it is complete. Returns at once.
 *         Outside of a task it is MPI_Wait.
 *  @param[in,out] request an active request of any kind. `MPI_REQUEST_NULL` on return, but a persistent request stays
 *                 the user's: it may be started again after the task. `MPI_REQUEST_NULL`: the call does nothing. Copies
 *                 of the handle are no longer valid, as after MPI_Wait: do not bind or test them. On Open MPI a copy is
 *                 refused while the operation is pending; elsewhere nobody notices.
 *  @param[out] status set before what depends on the task starts, or `MPI_STATUS_IGNORE`. It must not lie on the stack
 *                 of the task, which does not read it: the tasks that depend on it do.
 *  @return `MPI_ERR_ARG` (null `request`); `MPI_ERR_REQUEST` (a persistent request that MPI does not know, a copy);
 *          `MPI_ERR_NO_MEM`; if the operation was complete already, its error; outside of a task as MPI_Wait.
 *  @note Threads: in the body of a task, any number of times, and in its `onready` action. */
TAMPI_EXPORT_ int TAMPI_Iwait(MPI_Request *request, MPI_Status *status);

/** @brief As TAMPI_Iwait() for several operations. Outside of a task it is MPI_Waitall.
 *  @param count            number of requests, at least 0.
 *  @param[in,out] requests array of `count` active requests, each once. Entries that are `MPI_REQUEST_NULL` are
 *                          ignored.
 *  @param[out] statuses    array of `count` statuses, or `MPI_STATUSES_IGNORE`. Those of ignored entries are not
 *                          touched: they may belong to an earlier call.
 *  @return `MPI_ERR_ARG` (negative count, null `requests`); `MPI_ERR_REQUEST` (in a task: a pending request stands
 *          twice in the array, also a persistent one); `MPI_ERR_NO_MEM`; if operations were complete already and some
 *          failed, `MPI_ERR_IN_STATUS`, or the error if it was the only operation. All requests are bound in any case,
 *          but for `MPI_ERR_ARG`, `MPI_ERR_REQUEST` and `MPI_ERR_NO_MEM`.
 *  @note Threads: as TAMPI_Iwait(). */
TAMPI_EXPORT_ int TAMPI_Iwaitall(int count, MPI_Request requests[], MPI_Status *statuses);

#if TAMPI_VERSION_MAJOR == 3
/** @brief Wait for an operation that no task has. If a wrapper outside of a task has left a request before, on any
 *         thread, or the library is not started: MPI_Wait, but it does nothing for `MPI_REQUEST_NULL`. Else it does
 *         nothing: each operation of a wrapper is bound to a task.
 *  @param[in,out] request a request of a wrapper.
 *  @param[out] status     as for MPI_Wait. Not touched for `MPI_REQUEST_NULL`.
 *  @return as MPI_Wait.
 *  @note Threads: any. */
TAMPI_EXPORT_ int TAMPI_Wait(MPI_Request *request, MPI_Status *status);

/** @brief As TAMPI_Wait() for several requests.
 *  @param count            number of requests, at least 0.
 *  @param[in,out] requests array of `count` requests. Entries that are `MPI_REQUEST_NULL` are ignored.
 *  @param[out] statuses    array of `count` statuses, or `MPI_STATUSES_IGNORE`. Those of ignored entries are not
 *                          touched.
 *  @return as MPI_Waitall.
 *  @note Threads: any. */
TAMPI_EXPORT_ int TAMPI_Waitall(int count, MPI_Request requests[], MPI_Status *statuses);
#endif

/* What the wrappers do with the request of an operation that has been started with result `code`. In a task both are
 * TAMPI_Iwait(). Outside of a task the first leaves the request to the user, and the second waits for it. */
TAMPI_EXPORT_ int thence_tampi_bind_(int code, MPI_Request *request, MPI_Status *status);
TAMPI_EXPORT_ int thence_tampi_bind_or_wait_(int code, MPI_Request *request, MPI_Status *status);

/* The wrappers. `TAMPI_Isend` starts the operation as MPI_Isend does and binds it as TAMPI_Iwait() does; so does each
 * other one. Parameters, returns and errors are those of the MPI function of that name, with these differences:
 * - 3.0.1: in a task `*request` is MPI_REQUEST_NULL on return. Outside of a task it is the active request, as from MPI,
 *   and TAMPI_Wait() or MPI_Wait completes it. TAMPI_Irecv has a last parameter `MPI_Status *status`.
 * - 4.0 and 4.1: there is no parameter `request`, and in its place TAMPI_Irecv has `MPI_Status *status`. Outside of a
 *   task the wrapper waits for the operation.
 * Each line of the table: X(name, (parameters), (arguments)), without the request. */
#define TAMPI_SEND_ const void *sendbuf, int sendcount, MPI_Datatype sendtype
#define TAMPI_RECV_ void *recvbuf, int recvcount, MPI_Datatype recvtype
#define TAMPI_SENDV_ const void *sendbuf, const int sendcounts[], const int sdispls[], MPI_Datatype sendtype
#define TAMPI_RECVV_ void *recvbuf, const int recvcounts[], const int displs[], MPI_Datatype recvtype
#define TAMPI_ISEND_(X, name)                                                                                          \
    X(name, (const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm),                     \
      (buf, count, datatype, dest, tag, comm))
#define TAMPI_REDUCE_ const void *sendbuf, void *recvbuf, int count, MPI_Datatype datatype, MPI_Op op
#define TAMPI_WRAPPERS_(X)                                                                                             \
    TAMPI_ISEND_(X, Isend)                                                                                             \
    TAMPI_ISEND_(X, Ibsend)                                                                                            \
    TAMPI_ISEND_(X, Irsend)                                                                                            \
    TAMPI_ISEND_(X, Issend)                                                                                            \
    X(Ibarrier, (MPI_Comm comm), (comm))                                                                               \
    X(Ibcast, (void *buffer, int count, MPI_Datatype datatype, int root, MPI_Comm comm),                               \
      (buffer, count, datatype, root, comm))                                                                           \
    X(Igather, (TAMPI_SEND_, TAMPI_RECV_, int root, MPI_Comm comm),                                                    \
      (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm))                                        \
    X(Igatherv, (TAMPI_SEND_, TAMPI_RECVV_, int root, MPI_Comm comm),                                                  \
      (sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, root, comm))                               \
    X(Iscatter, (TAMPI_SEND_, TAMPI_RECV_, int root, MPI_Comm comm),                                                   \
      (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm))                                        \
    X(Iscatterv, (TAMPI_SENDV_, TAMPI_RECV_, int root, MPI_Comm comm),                                                 \
      (sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcount, recvtype, root, comm))                              \
    X(Iallgather, (TAMPI_SEND_, TAMPI_RECV_, MPI_Comm comm),                                                           \
      (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm))                                              \
    X(Iallgatherv, (TAMPI_SEND_, TAMPI_RECVV_, MPI_Comm comm),                                                         \
      (sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, comm))                                     \
    X(Ialltoall, (TAMPI_SEND_, TAMPI_RECV_, MPI_Comm comm),                                                            \
      (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm))                                              \
    X(Ialltoallv, (TAMPI_SENDV_, TAMPI_RECVV_, MPI_Comm comm),                                                         \
      (sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, displs, recvtype, comm))                           \
    X(Ialltoallw,                                                                                                      \
      (const void *sendbuf, const int sendcounts[], const int sdispls[], const MPI_Datatype sendtypes[],               \
       void *recvbuf, const int recvcounts[], const int rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm),     \
      (sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes, comm))                        \
    X(Ireduce, (TAMPI_REDUCE_, int root, MPI_Comm comm), (sendbuf, recvbuf, count, datatype, op, root, comm))          \
    X(Iallreduce, (TAMPI_REDUCE_, MPI_Comm comm), (sendbuf, recvbuf, count, datatype, op, comm))                       \
    X(Iscan, (TAMPI_REDUCE_, MPI_Comm comm), (sendbuf, recvbuf, count, datatype, op, comm))                            \
    X(Iexscan, (TAMPI_REDUCE_, MPI_Comm comm), (sendbuf, recvbuf, count, datatype, op, comm))                          \
    X(Ireduce_scatter_block, (TAMPI_REDUCE_, MPI_Comm comm), (sendbuf, recvbuf, count, datatype, op, comm))            \
    X(Ireduce_scatter,                                                                                                 \
      (const void *sendbuf, void *recvbuf, const int recvcounts[], MPI_Datatype datatype, MPI_Op op, MPI_Comm comm),   \
      (sendbuf, recvbuf, recvcounts, datatype, op, comm))
#define TAMPI_UNPACK_(...) __VA_ARGS__

#if TAMPI_VERSION_MAJOR == 3
/* An MPI may return MPI_SUCCESS after a user's error handler, and leave the request as it was. */
#define TAMPI_CLEAR_(request)                                                                                          \
    do {                                                                                                               \
        if ((request) != NULL) {                                                                                       \
            *(request) = MPI_REQUEST_NULL;                                                                             \
        }                                                                                                              \
    } while (0)
#define TAMPI_WRAPPER_(name, parameters, arguments)                                                                    \
    static inline int TAMPI_##name(TAMPI_UNPACK_ parameters, MPI_Request *request) {                                   \
        TAMPI_CLEAR_(request);                                                                                         \
        const int code = MPI_##name(TAMPI_UNPACK_ arguments, request);                                                 \
        return thence_tampi_bind_(code, request, MPI_STATUS_IGNORE);                                                   \
    }
/** @brief Start a receive and bind it to the calling task: MPI_Irecv, then TAMPI_Iwait(). In the interface of 3.0.1.
 *  @param[out] buf, count, datatype, source, tag, comm as for MPI_Irecv.
 *  @param[out] request in a task `MPI_REQUEST_NULL`. Outside of a task the active request, as from MPI_Irecv.
 *  @param[out] status  as for TAMPI_Iwait(). Not used outside of a task: TAMPI_Wait() or MPI_Wait sets one.
 *  @return as MPI_Irecv and TAMPI_Iwait().
 *  @note Threads: as TAMPI_Iwait(). */
static inline int TAMPI_Irecv(void *buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
                              MPI_Request *request, MPI_Status *status) {
    TAMPI_CLEAR_(request);
    const int code = MPI_Irecv(buf, count, datatype, source, tag, comm, request);
    return thence_tampi_bind_(code, request, status);
}
#else
#define TAMPI_WRAPPER_(name, parameters, arguments)                                                                    \
    static inline int TAMPI_##name(TAMPI_UNPACK_ parameters) {                                                         \
        MPI_Request request = MPI_REQUEST_NULL;                                                                        \
        const int code = MPI_##name(TAMPI_UNPACK_ arguments, &request);                                                \
        return thence_tampi_bind_or_wait_(code, &request, MPI_STATUS_IGNORE);                                          \
    }
static inline int TAMPI_Irecv(void *buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
                              MPI_Status *status) {
    MPI_Request request = MPI_REQUEST_NULL;
    const int code = MPI_Irecv(buf, count, datatype, source, tag, comm, &request);
    return thence_tampi_bind_or_wait_(code, &request, status);
}
#endif
TAMPI_WRAPPERS_(TAMPI_WRAPPER_)

#undef TAMPI_ISEND_
#undef TAMPI_SEND_
#undef TAMPI_RECV_
#undef TAMPI_SENDV_
#undef TAMPI_RECVV_
#undef TAMPI_REDUCE_
#undef TAMPI_WRAPPERS_
#undef TAMPI_WRAPPER_
#undef TAMPI_CLEAR_
#undef TAMPI_UNPACK_

#ifdef __cplusplus
}
#endif
