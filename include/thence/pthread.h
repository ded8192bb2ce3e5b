/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/** @file pthread.h
 *  @brief POSIX threads, for C: put the calling thread to sleep until MPI operations are complete, and let the callback
 *         wake it. C11 and C++; C++ programs have more in threads.hpp.
 *
 *  A thread that sleeps makes no progress. Another thread has to make it: one inside MPI, or the library's helper
 *  thread, which runs if the continuation request has `THENCE_CR_ANY_THREAD`. Both need `MPI_THREAD_MULTIPLE`. On MPICH
 *  and Intel MPI the helper thread needs libthence, see thence_cr_create().
 *
 *  Source: Schuchart et al. 2021, "Callback-based completion notification using MPI Continuations", listing 3. */

#include <pthread.h>

#include <thence/thence.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A blocked thread. It is on the stack of that thread, which destroys it after the callback has released the lock. */
typedef struct thence_pthread_blocked_ {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    int done;
    int error;
} thence_pthread_blocked_;

static inline int thence_pthread_unblock_(int error, MPI_Status *statuses, void *data) {
    thence_pthread_blocked_ *self = (thence_pthread_blocked_ *)data;
    (void)statuses;
    pthread_mutex_lock(&self->mutex);
    self->error = error;
    self->done = 1;
    pthread_cond_signal(&self->changed);
    pthread_mutex_unlock(&self->mutex);
    return MPI_SUCCESS; /* the thread returns the error */
}

/** @brief Sleep until `count` operations are complete.
 *  @param count    number of requests, at least 0.
 *  @param requests array of `count` active requests of any kind; as in thence_attach(), the non-persistent ones are
 *                  `MPI_REQUEST_NULL` on return.
 *  @param[out] statuses array of `count` statuses, or `MPI_STATUSES_IGNORE`; `MPI_ERROR` of each is set too.
 *  @param cr       the continuation request to register with, best one with `THENCE_CR_ANY_THREAD`; not poll-only and
 *                  not one that needs a start, since a thread that sleeps neither tests nor starts it.
 *  @return `MPI_SUCCESS`; the error of a failed operation (`count == 1`) or, as thence_attach() gives it to a callback,
 *          of the first failed one; `MPI_ERR_ARG` (a bad argument, or `cr` is of a kind named above), `MPI_ERR_REQUEST`
 *          (no live CR) or `MPI_ERR_NO_MEM`: then it has not waited, and the requests are unchanged.
 *  @note Threads: any number at once, with the same `cr` too. Do not call it in a callback: no other callback runs on
 *        that thread, so the one that wakes it may never run. Cost: that of thence_attach(), no allocation. */
static inline int thence_pthread_block(int count, MPI_Request requests[], MPI_Status *statuses, MPI_Request cr) {
    thence_pthread_blocked_ self;
    thence_cr_info info;
    int flag = 0;
    int rc = thence_cr_query(cr, &info, sizeof info);
    if (rc != MPI_SUCCESS) {
        return rc;
    }
    if (info.flags & (THENCE_CR_POLL_ONLY | THENCE_CR_NEEDS_START)) {
        return MPI_ERR_ARG;
    }
    self.done = 0;
    self.error = MPI_SUCCESS;
    pthread_mutex_init(&self.mutex, NULL);
    pthread_cond_init(&self.changed, NULL);
    rc = thence_attach(count, requests, thence_pthread_unblock_, &self, THENCE_INVOKE_FAILED, statuses, cr, &flag);
    if (rc == MPI_SUCCESS && !flag) {
        pthread_mutex_lock(&self.mutex);
        while (!self.done) {
            pthread_cond_wait(&self.changed, &self.mutex);
        }
        pthread_mutex_unlock(&self.mutex);
        rc = self.error;
    }
    pthread_cond_destroy(&self.changed);
    pthread_mutex_destroy(&self.mutex);
    return rc;
}

#ifdef __cplusplus
}
#endif
