/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef THENCE_STREAM_H
#define THENCE_STREAM_H

/** @file stream.h
 *  @brief Streams: serial contexts of a process, and communicators for them.
 *
 *  A *stream* says in which order calls come: the program promises that no two threads are inside MPI calls on the
 *  communicators of one stream at the same time. Such a call is also a wait for a request of that communicator. A stream
 *  may stand for the order of something outside of MPI: a CUDA stream, or another queue (`enqueue.h`).
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
 *                     ::thence_queue). See `enqueue.h`. Any other type gives a stream without a queue. `native` (`true`,
 *                     the default, or `false`): whether it may use an endpoint of MPI's own. Other keys are ignored.
 *                     `MPI_INFO_NULL`: none.
 *  @param[out] stream the new stream.
 *  @return `MPI_ERR_ARG` (null `stream`); `MPI_ERR_INFO_VALUE` (`value` is missing or is no such text, or `native` is
 *          no boolean); `MPI_ERR_UNSUPPORTED_OPERATION` (`type` names a queue that this process cannot use: the text
 *          says why); `MPI_ERR_NO_MEM`; `MPI_ERR_OTHER` before `MPI_Init` and after `MPI_Finalize`.
 *  @note Threads: any. There can be 2^24 streams at a time.
 *  @note MPICH's own endpoints are used if the program is started with `MPIR_CVAR_CH4_RESERVE_VCIS` above 0 and one is
 *        left; `thence info` says whether they work. MPICH takes no lock for them. So a continuation on a request of
 *        such a communicator breaks the promise, since any thread may complete it: use `native` = `false` then. */
THENCE_EXPORT int thence_stream_create(MPI_Info info, thence_stream *stream);

/** @brief Free a stream.
 *  @param[in,out] stream set to ::THENCE_STREAM_NULL. What the stream stands for, such as a CUDA stream, stays.
 *  @return `MPI_ERR_ARG` (null `stream`, or it is no stream of this library); `MPI_ERR_OTHER` (a communicator of the
 *          stream exists); `MPI_ERR_PENDING` (enqueued operations are outstanding). Nothing has changed then.
 *  @note Threads: any. */
THENCE_EXPORT int thence_stream_free(thence_stream *stream);

/** @brief Create a communicator for a stream. Collective over `comm`.
 *  @param comm         the communicator whose processes the new one has, in the same order. Its attributes are copied,
 *                      as by MPI_Comm_dup.
 *  @param stream       the stream of this process, or ::THENCE_STREAM_NULL. Processes may differ in that.
 *  @param[out] newcomm the new communicator. MPI_Comm_dup and MPI_Comm_idup copy it together with its stream,
 *                      MPI_Comm_free frees it. If the stream has a queue, its error handler is `MPI_ERRORS_RETURN`.
 *  @return `MPI_ERR_COMM` (`comm` is null); `MPI_ERR_ARG` (`stream` is no stream, or null `newcomm`); the error of MPI's
 *          own call; `MPI_ERR_NO_MEM`; `MPI_ERR_OTHER` before `MPI_Init` and after `MPI_Finalize`.
 *  @note Threads: any that may call MPI, as for MPI_Comm_dup. */
THENCE_EXPORT int thence_stream_comm_create(MPI_Comm comm, thence_stream stream, MPI_Comm *newcomm);

/** @brief Say which stream a communicator has.
 *  @param comm        any communicator.
 *  @param idx         which of its streams: 0 is the first.
 *  @param[out] stream the stream of this process; ::THENCE_STREAM_NULL if it has none with that index.
 *  @return `MPI_ERR_COMM` (`comm` is null); `MPI_ERR_ARG` (null `stream`); `MPI_ERR_OTHER` before `MPI_Init` and after
 *          `MPI_Finalize`.
 *  @note Threads: any. */
THENCE_EXPORT int thence_comm_get_stream(MPI_Comm comm, int idx, thence_stream *stream);

/** @brief Store bytes in an info as hexadecimal text.
 *  @param info       the info.
 *  @param key        the key.
 *  @param value      the bytes.
 *  @param value_size how many, at least 0. The text of each is two digits; that of two or more zeros in succession is
 *                    their number in brackets. So the eight bytes of 0x1234 on a little-endian machine are `3412[6]`.
 *  @return `MPI_ERR_INFO` (`info` is null); `MPI_ERR_ARG` (null `key` or `value`, negative `value_size`);
 *          `MPI_ERR_INFO_VALUE` (the text is longer than `MPI_MAX_INFO_VAL`); the error of MPI_Info_set; `MPI_ERR_OTHER`
 *          before `MPI_Init` and after `MPI_Finalize`.
 *  @note Threads: as for MPI_Info_set. */
THENCE_EXPORT int thence_info_set_hex(MPI_Info info, const char *key, const void *value, int value_size);

#ifdef __cplusplus
}
#endif
#endif
