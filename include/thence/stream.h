/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/** @file stream.h
 *  @brief Streams: serial contexts of a process, and communicators for them.
 *
 *  A *stream* says in which order calls come: the program promises that no two threads are inside MPI calls on the
 *  communicators of one stream at the same time. Such a call is also a wait for a request of that communicator. With
 *  `THENCE_CHECK_STREAMS=on` in the environment Thence reports two such threads. A stream may stand for the order of
 *  something outside of MPI: a CUDA stream, or another queue (`enqueue.h`).
 *
 *  A *stream communicator* is a communicator of its own, so messages of threads that use different streams never meet
 *  in MPI's matching. It carries what the program promises for it (`mpi_assert_...`). Where MPI has endpoints for
 *  streams, it uses one.
 *
 *      thence_stream stream;
 *      MPI_Comm comm;
 *      thence_stream_create(MPI_INFO_NULL, &stream);
 *      thence_stream_comm_create(MPI_COMM_WORLD, stream, &comm); // each thread has one
 *      MPI_Send(buffer, 100, MPI_CHAR, 1, 0, comm);
 *      MPI_Comm_free(&comm);
 *      thence_stream_free(&stream);
 *
 *  Source: Zhou et al., "Designing and Prototyping Extensions to MPI in MPICH", the section on streams; MPICH 5. */

#include <thence/thence.h>

#ifdef __cplusplus
extern "C" {
#endif

/** @brief A stream of this process. */
typedef int thence_stream;
/** No stream. */
#define THENCE_STREAM_NULL ((thence_stream)0x3c000000)

/** @brief Create a stream.
 *  @param info        keys whose names begin with `mpi_assert_` are given to the communicators of the stream. With the
 *                     key `type` the stream is the order of a queue, and `value` says which, as the hexadecimal text
 *                     of thence_info_set_hex(): `cudaStream_t` (value: the handle), or `thence_queue` (value: a
 *                     ::thence_queue). See `enqueue.h`. Any other type gives a stream without a queue. `native`
 *                     (`true`, the default, or `false`): whether it may use an endpoint of MPI's own. Other keys are
 *                     ignored. `MPI_INFO_NULL`: none.
 *  @param[out] stream the new stream.
 *  @return `MPI_ERR_ARG` (null `stream`); `MPI_ERR_INFO_VALUE` (`value` is missing or is no such text, or `native` is
 *          no boolean); `MPI_ERR_UNSUPPORTED_OPERATION` (`type` names a queue that this process cannot use: the text
 *          says why); `MPI_ERR_NO_MEM`; `MPI_ERR_OTHER` before `MPI_Init` and after `MPI_Finalize`.
 *  @note Threads: any. There can be 2^24 streams at a time.
 *  @note MPICH's own endpoints are used if the program is started with `MPIR_CVAR_CH4_RESERVE_VCIS` above 0 and one is
 *        left; `thence info` says whether they work. MPICH takes no lock for them. So a continuation on a request of
 *        such a communicator breaks the promise, since any thread may complete it: use `native` = `false` then. */
THENCE_EXPORT int thence_stream_create(MPI_Info info, thence_stream *stream);

/** @brief Free a stream. If it has a queue, waits until what is enqueued is complete, and makes progress meanwhile.
 *         Requests of enqueued operations stay valid: MPI_Wait takes them, but no wait for them can be enqueued. So
 *         enqueue that wait before for a receive into a device buffer that is copied (see thence/enqueue.h).
 *  @param[in,out] stream set to ::THENCE_STREAM_NULL. What the stream stands for, such as a CUDA stream, stays.
 *  @return `MPI_ERR_ARG` (null `stream`, or it is no stream of this library); `MPI_ERR_OTHER` (a communicator of the
 *          stream exists); `MPI_ERR_PENDING` (enqueued operations are outstanding, and this is called in a callback,
 *          which must not wait, or after MPI_Finalize, when they do not end any more). Nothing has changed then.
 *  @note Threads: any, but no function of the queue: it would wait for itself. */
THENCE_EXPORT int thence_stream_free(thence_stream *stream);

/** @brief Create a communicator for a stream. Collective over `comm`.
 *  @param comm         the communicator whose processes the new one has, in the same order. Its attributes are copied,
 *                      as by MPI_Comm_dup.
 *  @param stream       the stream of this process, or ::THENCE_STREAM_NULL. Processes may differ in that.
 *  @param[out] newcomm the new communicator. MPI_Comm_dup and MPI_Comm_idup copy it together with its stream,
 *                      MPI_Comm_free frees it. If the stream has a queue, its error handler is `MPI_ERRORS_RETURN`.
 *  @return `MPI_ERR_COMM` (`comm` is null); `MPI_ERR_ARG` (`stream` is no stream, or null `newcomm`); the error of
 *          MPI's own call; `MPI_ERR_NO_MEM`; `MPI_ERR_OTHER` before `MPI_Init` and after `MPI_Finalize`.
 *  @note Threads: any that may call MPI, as for MPI_Comm_dup. */
THENCE_EXPORT int thence_stream_comm_create(MPI_Comm comm, thence_stream stream, MPI_Comm *newcomm);

/** @brief Create a multiplex communicator: each process has several streams there. Collective over `comm`.
 *
 *  thence_stream_send() and the calls that follow it send a message from one stream to another. MPI's own messages and
 *  collectives on the communicator are those of an ordinary one, and never match the messages of these calls.
 *  @param comm             the communicator whose processes the new one has, in the same order. Its attributes are
 *                          copied, as by MPI_Comm_dup. It is an intracommunicator, and no thread communicator.
 *  @param count            how many streams this process has there. Processes may differ in that. 0: one, which is
 *                          ::THENCE_STREAM_NULL.
 *  @param array_of_streams the streams of this process. Entries may be ::THENCE_STREAM_NULL, and the same stream may be
 *                          there twice. The position in the array is the index of a stream. Operations cannot be
 *                          enqueued on the communicator. Null is allowed if `count` is 0.
 *  @param[out] newcomm     the new communicator. MPI_Comm_dup and MPI_Comm_idup copy it together with its streams, and
 *                          messages on a copy are its own. After MPI_Comm_free pending operations still complete.
 *  @return `MPI_ERR_COMM` (`comm` is null, an intercommunicator, or a thread communicator); `MPI_ERR_ARG` (null
 *          `newcomm`; in a process, a negative `count`, null `array_of_streams`, or an entry that is no stream);
 *          `MPI_ERR_NO_MEM`; the error of MPI's own call; `MPI_ERR_OTHER` before `MPI_Init` and after `MPI_Finalize`.
 *          What is wrong in one process with `count` or `array_of_streams` is the error of all.
 *  @note Threads: any that may call MPI, as for MPI_Comm_dup. */
THENCE_EXPORT int thence_stream_comm_create_multiplex(MPI_Comm comm, int count, thence_stream array_of_streams[],
                                                      MPI_Comm *newcomm);

/** @brief Say which stream a communicator has.
 *  @param comm        any communicator.
 *  @param idx         which of its streams: 0 is the first. Only multiplex communicators have more.
 *  @param[out] stream the stream of this process; ::THENCE_STREAM_NULL if it has none with that index.
 *  @return `MPI_ERR_COMM` (`comm` is null); `MPI_ERR_ARG` (null `stream`); `MPI_ERR_OTHER` before `MPI_Init` and after
 *          `MPI_Finalize`.
 *  @note Threads: any. */
THENCE_EXPORT int thence_comm_get_stream(MPI_Comm comm, int idx, thence_stream *stream);

/** @brief Send a message from one stream to another, and wait until the buffer can be used again.
 *
 *  Messages from one stream to another are received in the order in which they were sent, as those of MPI. Small
 *  messages are copied, so the call may return before the receive is posted; a large one waits for it.
 *  @param buf                 the data.
 *  @param count               how many elements, at least 0.
 *  @param datatype            of an element.
 *  @param dest                the rank of the destination, or `MPI_PROC_NULL`. It may be that of the caller.
 *  @param tag                 at least 0. All bits count.
 *  @param comm                a multiplex communicator.
 *  @param source_stream_index the index of the stream of this process.
 *  @param dest_stream_index   the index of the stream of the destination.
 *  @return `MPI_ERR_OTHER` (`comm` is no multiplex communicator); `MPI_ERR_RANK`, `MPI_ERR_TAG`, `MPI_ERR_COUNT`,
 *          `MPI_ERR_TYPE`, `MPI_ERR_ARG` (what is wrong with `dest`, `tag`, `count`, `datatype`, an index);
 *          `MPI_ERR_COUNT` also if the message goes to another process and has 2^31 bytes or more; `MPI_ERR_NO_MEM`;
 *          the error of MPI's own call. Errors go through the error handler of `comm`.
 *  @note Threads: any, but one at a time for a stream. Threads of several streams may be in these calls at the same
 *        time if MPI was initialized with `MPI_THREAD_MULTIPLE`. */
THENCE_EXPORT int thence_stream_send(const void *buf, int count, MPI_Datatype datatype, int dest, int tag,
                                     MPI_Comm comm, int source_stream_index, int dest_stream_index);
/** @brief The same with a large count: see thence_stream_send(). */
THENCE_EXPORT int thence_stream_send_c(const void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
                                       MPI_Comm comm, int source_stream_index, int dest_stream_index);

/** @brief Start a send from one stream to another: see thence_stream_send().
 *  @param buf                 the data.
 *  @param count               how many elements.
 *  @param datatype            of an element.
 *  @param dest                the rank of the destination.
 *  @param tag                 the tag.
 *  @param comm                a multiplex communicator.
 *  @param source_stream_index the index of the stream of this process.
 *  @param dest_stream_index   the index of the stream of the destination.
 *  @param[out] request        a generalized request of MPI. Every completion call of MPI takes it, and
 *                             continuations can be attached to it.
 *  @return as thence_stream_send(); `MPI_ERR_ARG` (null `request`); `MPI_ERR_OTHER` (MPI makes no request).
 *  @note Threads: as for thence_stream_send(). */
THENCE_EXPORT int thence_stream_isend(const void *buf, int count, MPI_Datatype datatype, int dest, int tag,
                                      MPI_Comm comm, int source_stream_index, int dest_stream_index,
                                      MPI_Request *request);
/** @brief The same with a large count: see thence_stream_isend(). */
THENCE_EXPORT int thence_stream_isend_c(const void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
                                        MPI_Comm comm, int source_stream_index, int dest_stream_index,
                                        MPI_Request *request);

/** @brief Receive a message from a stream.
 *  @param[out] buf            gets the data.
 *  @param count               how many elements it has room for, at least 0.
 *  @param datatype            of an element.
 *  @param source              the rank of the sender, `MPI_ANY_SOURCE` or `MPI_PROC_NULL`.
 *  @param tag                 the tag, or `MPI_ANY_TAG`.
 *  @param comm                a multiplex communicator.
 *  @param source_stream_index the index of the stream of the sender; -1: any.
 *  @param dest_stream_index   the index of the stream of this process, for which the message is.
 *  @param[out] status         rank, tag and count of the message, or `MPI_STATUS_IGNORE`.
 *  @return as thence_stream_send(); `MPI_ERR_TRUNCATE` (the message is longer than the buffer, which has what fits).
 *  @note Threads: as for thence_stream_send(). */
THENCE_EXPORT int thence_stream_recv(void *buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
                                     int source_stream_index, int dest_stream_index, MPI_Status *status);
/** @brief The same with a large count: see thence_stream_recv(). */
THENCE_EXPORT int thence_stream_recv_c(void *buf, MPI_Count count, MPI_Datatype datatype, int source, int tag,
                                       MPI_Comm comm, int source_stream_index, int dest_stream_index,
                                       MPI_Status *status);

/** @brief Start a receive from a stream: see thence_stream_recv().
 *  @param[out] buf            gets the data.
 *  @param count               how many elements it has room for.
 *  @param datatype            of an element.
 *  @param source              the rank of the sender.
 *  @param tag                 the tag.
 *  @param comm                a multiplex communicator.
 *  @param source_stream_index the index of the stream of the sender; -1: any.
 *  @param dest_stream_index   the index of the stream of this process.
 *  @param[out] request        as in thence_stream_isend(). MPI_Cancel cancels it while no message has matched.
 *  @return as thence_stream_isend(). The request tells of truncation.
 *  @note Threads: as for thence_stream_send(). */
THENCE_EXPORT int thence_stream_irecv(void *buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
                                      int source_stream_index, int dest_stream_index, MPI_Request *request);
/** @brief The same with a large count: see thence_stream_irecv(). */
THENCE_EXPORT int thence_stream_irecv_c(void *buf, MPI_Count count, MPI_Datatype datatype, int source, int tag,
                                        MPI_Comm comm, int source_stream_index, int dest_stream_index,
                                        MPI_Request *request);

/** @brief Store bytes in an info as hexadecimal text.
 *  @param info       the info.
 *  @param key        the key.
 *  @param value      the bytes.
 *  @param value_size how many, at least 0. The text of each is two digits; that of two or more zeros in succession is
 *                    their number in brackets. So the eight bytes of 0x1234 on a little-endian machine are `3412[6]`.
 *  @return `MPI_ERR_INFO` (`info` is null); `MPI_ERR_ARG` (null `key` or `value`, negative `value_size`);
 *          `MPI_ERR_INFO_VALUE` (the text is longer than `MPI_MAX_INFO_VAL`); the error of MPI_Info_set;
 *          `MPI_ERR_OTHER` before `MPI_Init` and after `MPI_Finalize`.
 *  @note Threads: as for MPI_Info_set. */
THENCE_EXPORT int thence_info_set_hex(MPI_Info info, const char *key, const void *value, int value_size);

#ifdef __cplusplus
}
#endif
