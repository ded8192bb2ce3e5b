/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/** @file progress.h
 *  @brief Explicit progress: progress threads, functions of the program that progress calls, a look at a request.
 *
 *  The signatures are those of MPICH 5 (Zhou et al., "Designing and Prototyping Extensions to MPI in MPICH").
 *  thence/mpix.h gives MPICH's names to these functions. thence_progress() is in thence.h. */

#include <thence/stream.h>
#include <thence/thence.h>

#ifdef __cplusplus
extern "C" {
#endif

/** @brief Make progress once.
 *  @param stream ::THENCE_STREAM_NULL: as thence_progress(). Another stream: first what its queue has reached and what
 *  MPI
 *                keeps for it alone, then the same.
 *  @return `MPI_ERR_ARG` (no live stream); `MPI_ERR_OTHER` before `MPI_Init` and after `MPI_Finalize`.
 *  @note Threads: any. */
THENCE_EXPORT int thence_stream_progress(thence_stream stream);

/** @brief Start a thread that makes progress while the program does something else.
 *
 *  The thread pauses between polls that find nothing: at first not at all, later up to 50 microseconds, so that it uses
 *  less than half of a processor. There is one thread for all streams. Each start counts: the thread rests when each
 *  stream was stopped as often as it was started.
 *  @param stream ::THENCE_STREAM_NULL, or a stream, which each poll of the thread then serves first.
 *  @return `MPI_ERR_UNSUPPORTED_OPERATION` where the thread cannot run: MPI was initialized below
 *          `MPI_THREAD_MULTIPLE`, or the MPI is MPICH or derived from it (Intel MPI) and the program is not linked with
 *          libthence. The text of the code says which. `MPI_ERR_ARG` (no live stream); `MPI_ERR_NO_MEM`;
 *          `MPI_ERR_OTHER` before `MPI_Init` and after `MPI_Finalize`.
 *  @note Threads: any. `MPI_Finalize` stops it. */
THENCE_EXPORT int thence_start_progress_thread(thence_stream stream);

/** @brief Undo one thence_start_progress_thread(). A stream that was not started is no error.
 *  @param stream ::THENCE_STREAM_NULL, or a stream.
 *  @return `MPI_ERR_OTHER` before `MPI_Init` and after `MPI_Finalize`.
 *  @note Threads: any. When the last is stopped, the thread leaves MPI, unless continuations need it. A poll that it
 *        had begun before has ended when this returns, unless the call is made on this thread. One more poll may
 *        follow, and callbacks of what was found and the start of enqueued operations may still be under way. */
THENCE_EXPORT int thence_stop_progress_thread(thence_stream stream);

/** An async function in progress: what thence_async_start() started. */
typedef struct thence_async *thence_async_thing;

/** What an async function returns. */
enum {
    THENCE_ASYNC_NOPROGRESS = 0, /**< call it again */
    THENCE_ASYNC_DONE = 1        /**< it has ended, and is not called again */
};

/** @brief An async function. Progress calls it until it returns ::THENCE_ASYNC_DONE.
 *  @param thing gives its state: thence_async_get_state().
 *  @return ::THENCE_ASYNC_DONE or ::THENCE_ASYNC_NOPROGRESS.
 *
 *  It is called by any thread that makes progress, by one at a time, as the poll functions of generalized requests are
 *  (thence/grequest.h). It may call MPI, test requests, start operations and other async functions. It must not wait
 *  for another of them, for a generalized request that is polled or for a continuation, and must not throw. */
typedef int(thence_async_poll_function)(thence_async_thing thing);

/** @brief Start an async function.
 *  @param poll_fn     the function.
 *  @param extra_state what thence_async_get_state() returns in it.
 *  @param stream      ::THENCE_STREAM_NULL, or a stream that it belongs to.
 *  @return `MPI_ERR_ARG` (null `poll_fn`, no live stream); `MPI_ERR_NO_MEM`; `MPI_ERR_OTHER` before `MPI_Init` and
 *          after `MPI_Finalize`.
 *  @note Threads: any; also inside an async function. `MPI_Finalize` returns only after all have said that they are
 *        done. */
THENCE_EXPORT int thence_async_start(thence_async_poll_function *poll_fn, void *extra_state, thence_stream stream);

/** @brief The state of an async function.
 *  @param async_thing what the function was called with.
 *  @return the pointer given when it was started; null for a null `async_thing`.
 *  @note Inside the function only. */
THENCE_EXPORT void *thence_async_get_state(thence_async_thing async_thing);

/** @brief Start an async function from inside another. As thence_async_start().
 *  @param async_thing the one that calls this.
 *  @param poll_fn     as above; so are `extra_state` and `stream`.
 *  @return as thence_async_start(), and `MPI_ERR_ARG` for a null `async_thing`.
 *  @note Threads: any. */
THENCE_EXPORT int thence_async_spawn(thence_async_thing async_thing, thence_async_poll_function *poll_fn,
                                     void *extra_state, thence_stream stream);

/** @brief Say whether a request is complete, without completing it.
 *
 *  On Open MPI it reads the request, and on MPICH 4.3 and later it calls `MPIX_Request_is_complete`: there it makes no
 *  progress, so a loop that calls nothing else may never end. On other MPIs it is `MPI_Request_get_status`, which makes
 *  progress (and calls the query function of a generalized request). `thence info` says which.
 *  @param request any request, also a continuation request.
 *  @return 1 if it is complete, inactive or `MPI_REQUEST_NULL`, else 0.
 *  @note Threads: any, but the request must not be completed or freed meanwhile. */
THENCE_EXPORT int thence_request_is_complete(MPI_Request request);

#ifdef __cplusplus
}
#endif
