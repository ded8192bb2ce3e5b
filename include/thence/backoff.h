/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/** @file backoff.h
 *  @brief How long a thread that polls pauses after a poll that found nothing: for loops of your own. C11 and C++.
 *
 *      thence_backoff backoff = THENCE_BACKOFF_INIT;
 *      while (!done()) {
 *          long ran = 0;
 *          thence_progress_some(&ran);
 *          if (ran > 0)
 *              thence_backoff_found(&backoff);
 *          else
 *              thence_backoff_pause(&backoff);
 *      }
 *
 *  Loops of Thence that poll pause in this way: blocking calls that must not block in MPI, and the adapters to OpenMP,
 *  oneTBB, Boost.Fiber, threads and pools. Some do otherwise, among them the helper thread: the page
 *  docs/guide/explicit-progress.md lists them, each with its pauses and its reason.
 *
 *  In a row of polls that find nothing the thread first does not pause, for `spins` polls. Then it spins, with a pause
 *  instruction between polls, for up to 50 microseconds, which is longer than a message usually takes. Then it sleeps.
 *  A sleep is an eighth of the time since it began to spin or, if that is longer, of the usual time that it took to
 *  find something, which it learns; but at least 3 microseconds and at most `longest`. Where such times are usually
 *  longer than 50 microseconds, the thread spins for a shorter time before it sleeps.
 *
 *  These pauses never yield the processor: a thread that yields beside one that computes runs again after a whole time
 *  slice of the other, 3 to 4 milliseconds, and stays in the queue of its processor while others may be idle. A thread
 *  that sleeps and uses little of its share runs at once when it wakes, and is placed on an idle processor if there is
 *  one.
 *
 *  If the thread comes back half a millisecond later than it should, another thread wants this processor. Then it spins
 *  for 10 microseconds at most, and no sleep is shorter than 20 microseconds, so that it keeps its claim to run at
 *  once. That lasts 40 milliseconds, and longer where it happens again soon. For some time afterwards no sleep is
 *  shorter than 30 microseconds.
 *
 *  While more threads are ready than there are processors, a sleep lasts at least four times as long as the processor
 *  time that it costs, which is measured, up to 100 microseconds, also if `longest` is less. A thread that sleeps for a
 *  short time displaces one that computes each time that it wakes; on virtual machines that costs 20 microseconds.
 *  Where more threads of the process sleep than there are processors, a sleep is longer in proportion. */

#include <stdint.h>

#include <thence/thence.h>

#ifdef __cplusplus
extern "C" {
#endif

/** @brief The state of one loop. Begin with ::THENCE_BACKOFF_INIT; you may set the first two members at any time.
 *  @note Threads: one at a time. */
typedef struct thence_backoff {
    int64_t longest;    /**< the longest sleep in nanoseconds, at least 1000 */
    uint32_t spins;     /**< how many polls in a row that find nothing are not followed by a pause */
    uint32_t misses;    /**< polls in a row that found nothing; counted until the thread sleeps */
    int64_t since;      /**< when the thread began to spin after the last poll that found something; 0: it has not */
    int64_t due;        /**< when it should be back from the last pause */
    int64_t usual;      /**< learnt: the usual time from `since` until something is found, in nanoseconds */
    int64_t shared;     /**< until this time another thread is assumed to want this processor */
    uint32_t shared_ms; /**< how long that was assumed for when it last was, in milliseconds */
    uint32_t unused;    /**< 0 */
} thence_backoff;

/** The state of a loop that begins: no spins, sleeps of at most 64 microseconds. */
#define THENCE_BACKOFF_INIT                                                                                            \
    { 64000, 0, 0, 0, 0, 0, 0, 0, 0 }

/** @brief A poll has found nothing, and the caller will pause by itself, for example on a condition variable.
 *  @param backoff the state of the loop.
 *  @return how long: 0 or less: not at all, or for a pause instruction. Above 0: sleep that many nanoseconds. A thread
 *  that
 *          has other work to do may do it in place of a pause; it calls thence_backoff_found() if that took long.
 *  @note Threads: any; one at a time with the same state. */
THENCE_EXPORT int64_t thence_backoff_next(thence_backoff *backoff);

/** @brief A poll has found nothing: pauses as thence_backoff_next() says.
 *
 *  A sleep of a few microseconds needs a small timer slack (`PR_SET_TIMERSLACK`). The thread has it during the sleep,
 *  and afterwards its own again.
 *  @param backoff the state of the loop.
 *  @note Threads: any; one at a time with the same state. */
THENCE_EXPORT void thence_backoff_pause(thence_backoff *backoff);

/** @brief A poll has found something: the next pauses are short again.
 *  @param backoff the state of the loop.
 *  @note Threads: any; one at a time with the same state. */
THENCE_EXPORT void thence_backoff_found(thence_backoff *backoff);

#ifdef __cplusplus
}
#endif
