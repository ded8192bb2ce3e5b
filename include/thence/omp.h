/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/** @file omp.h
 *  @brief OpenMP: a detached task completes when its MPI operations do. C11 and C++, GCC 11 and Clang 12 or later.
 *
 *  A task with the clause `detach(event)` starts operations, hands them to thence_omp_fulfill_event_after() and
 *  ends. Its thread runs other tasks; the tasks that depend on it start once the operations are complete.
 *
 *  OpenMP has no polling service, and a thread that waits inside `taskwait` or a barrier calls no MPI. Choose what
 *  makes progress instead: create the continuation request with `THENCE_CR_ANY_THREAD`, then the library's helper
 *  thread does, also while every OpenMP thread is blocked; or wait with thence_omp_taskwait(). Both need
 *  `MPI_THREAD_MULTIPLE`.
 *
 *  GCC's runtime runs a task at once, on the thread that creates it, when more than 64 tasks per thread are
 *  unfinished, detached ones included. If that task is detached, its creator then blocks until its event is
 *  fulfilled. Put the receives and the sends that match each other across ranks into one task or create them close
 *  together, else the creator may wait for a message that it would have sent later. LLVM's runtime has no such
 *  limit.
 *
 *  In GCC's runtime (seen in GCC 12) a detached task that runs inside of `taskwait depend(...)` is complete when its
 *  body ends: tasks that depend on it start too early, and its event is fulfilled after its memory was released. Use a
 *  plain `taskwait`, or let a thread that only creates tasks sleep until the data are there.
 *
 *  In GCC's runtime (seen in GCC 12) a barrier may never end if the last task that it waits for is detached, has no
 *  successor, and its event is fulfilled by a thread outside of the team, such as the library's own. A `taskwait` by
 *  the thread that created the tasks, before the barrier, avoids that.
 *
 *  Source: Schuchart et al. 2021, "Callback-based completion notification using MPI Continuations", section 5.2. */

#ifndef _OPENMP
#error "thence/omp.h needs OpenMP: compile with -fopenmp (CMake: link OpenMP::OpenMP_C or OpenMP::OpenMP_CXX)"
#endif
#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ < 11
#error "thence/omp.h needs detached tasks: use GCC 11 or later, or Clang 12 or later"
#endif

#include <omp.h>
#include <pthread.h>
#include <stdint.h>
#include <time.h>

#include <thence/backoff.h>
#include <thence/task_runtime.h>
#include <thence/thence.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The data of the continuation is the event itself, so nothing is allocated. */
static inline int thence_omp_fulfill_(int error, MPI_Status *statuses, void *data) {
    (void)statuses;
    omp_fulfill_event((omp_event_handle_t)(uintptr_t)data);
    return error;
}

/** @brief Fulfil an OpenMP event once `count` operations are complete.
 *  @param count    number of requests, at least 0.
 *  @param requests array of `count` active requests of any kind; as in thence_attach(), the non-persistent ones are
 *                  `MPI_REQUEST_NULL` on return.
 *  @param statuses array of `count` statuses that stays valid until the event is fulfilled and is set by then, or
 *                  `MPI_STATUSES_IGNORE`. The task may have ended by then: use memory that outlives it.
 *  @param event    the handle of the clause `detach(event)` of the calling task. Fulfilled exactly once; inside
 *                  this call if everything is complete already.
 *  @param cr       the continuation request to register with, best one with `THENCE_CR_ANY_THREAD`.
 *  @return `MPI_SUCCESS`, or an error as from thence_attach():
 *          - of class `MPI_ERR_ARG`, `MPI_ERR_REQUEST` or `MPI_ERR_NO_MEM`: nothing has happened. The event is
 *            **not** fulfilled and the requests are still the caller's, who must complete them and fulfil the
 *            event;
 *          - any other: everything was complete already and an operation has failed. The event **is** fulfilled.
 *            This is that operation's error, or `MPI_ERR_IN_STATUS` for `count > 1`.
 *
 *          An operation that fails later fulfils the event too. Its error is in `statuses`, and with
 *          `THENCE_CR_REPORT_FAILED` also what the test of `cr` and thence_omp_taskwait() return.
 *  @note Threads: any number at once, with the same `cr` too. Cost: that of thence_attach(), no allocation.
 *  @note Source: paper sections 2.3 and 5.2. */
static inline int thence_omp_fulfill_event_after(int count, MPI_Request requests[], MPI_Status *statuses,
                                                 omp_event_handle_t event, MPI_Request cr) {
    int flag = 0;
    int rc = thence_attach(count, requests, thence_omp_fulfill_, (void *)(uintptr_t)event, THENCE_INVOKE_FAILED,
                           statuses, cr, &flag);
    if (flag) {
        omp_fulfill_event(event);
    }
    return rc;
}

/* Completes a task of thence_omp_task_begin(). */
static inline void thence_omp_complete_(void *event) {
    omp_fulfill_event((omp_event_handle_t)(uintptr_t)event);
}

/** @brief The body of a detached task begins: until thence_omp_task_end(), the calls that delay the end of *the current
 *         task* (thence_task_attach(), TAMPI_Iwait()) delay that of this one. For programs that attach several times in
 *         a task, or use code that does not know the event.
 *
 *      #pragma omp task depend(out : buffer[0]) detach(event)
 *      {
 *          thence_omp_task_begin(event);
 *          MPI_Irecv(buffer, n, MPI_DOUBLE, from, tag, comm, &request);
 *          TAMPI_Iwait(&request, &status); // or thence_task_attach()
 *          thence_omp_task_end();
 *      }
 *
 *  Add the table first: `thence_task_runtime_add(thence_task_runtime_detached())`. OpenMP cannot block a task, so
 *  thence_task_wait() is refused.
 *  @param event the handle of the clause `detach(event)`. Fulfilled once, when the body has ended and all operations
 *               are complete.
 *  @return `MPI_SUCCESS`, or `MPI_ERR_NO_MEM`: the caller must fulfil the event itself.
 *  @note Threads: a tied task. Cost: no allocation in steady state.
 *  @note A plain task that the thread runs inside of the body would count as this one. So put each scheduling point of
 *        the body (taskwait, taskyield, the creation of a task, which OpenMP may run at once) between
 *        thence_omp_task_pause() and thence_omp_task_resume(). thence_omp_taskwait() does so itself.
 *  @note Source: Schuchart et al. 2020, "Fibers are not (P)Threads", section 5. */
static inline int thence_omp_task_begin(omp_event_handle_t event) {
    return thence_detached_begin(thence_omp_complete_, (void *)(uintptr_t)event);
}

/** @brief The body of the task ends. @return `MPI_ERR_ARG` outside of such a body. */
static inline int thence_omp_task_end(void) {
    return thence_detached_end();
}

/** @brief The body comes to a scheduling point, where the thread may run other tasks: until thence_omp_task_resume()
 *         the detached task is not the current one.
 *
 *      thence_omp_task_pause(&paused);
 *      #pragma omp task
 *      work_of_a_child();
 *      #pragma omp taskwait
 *      thence_omp_task_resume(paused);
 *  @param[out] paused what thence_omp_task_resume() needs; null outside of such a body.
 *  @return `MPI_ERR_ARG` (null `paused`).
 *  @note Threads: a tied task. */
static inline int thence_omp_task_pause(void **paused) {
    return thence_detached_pause(paused);
}

/** @brief The body goes on: its task is the current one again.
 *  @param paused what thence_omp_task_pause() gave to this body.
 *  @return `MPI_ERR_ARG` (a detached body that has begun on this thread meanwhile has not ended). */
static inline int thence_omp_task_resume(void *paused) {
    return thence_detached_resume(paused);
}

/* The thread may run other tasks, which are not the caller. */
static inline void thence_omp_wait_for_children_(void) {
    void *paused;
    thence_omp_task_pause(&paused);
#pragma omp taskwait
    thence_omp_task_resume(paused);
}

/* The thread that tests a continuation request while thence_omp_taskwait() waits. `mutex` guards all fields but
 * `cr`. */
typedef struct thence_omp_tester_ {
    pthread_mutex_t mutex;
    pthread_cond_t stopped;
    MPI_Request cr;
    int stop;
    int error;
} thence_omp_tester_;

static inline void *thence_omp_test_until_stopped_(void *data) {
    thence_omp_tester_ *self = (thence_omp_tester_ *)data;
    long registered = -1;
    thence_backoff backoff = THENCE_BACKOFF_INIT;
    int64_t sleep;
    pthread_mutex_lock(&self->mutex);
    while (!self->stop) {
        pthread_mutex_unlock(&self->mutex);
        int flag = 0;
        thence_cr_info info;
        int rc = thence_test(&self->cr, &flag, MPI_STATUS_IGNORE);
        int rc_query = thence_cr_query(self->cr, &info, sizeof info);
        int moved = rc_query == MPI_SUCCESS && info.registered != registered;
        registered = rc_query == MPI_SUCCESS ? info.registered : -1;
        if (moved) {
            thence_backoff_found(&backoff);
        }
        sleep = thence_backoff_next(&backoff);
        pthread_mutex_lock(&self->mutex);
        if (self->error == MPI_SUCCESS) {
            self->error = rc;
        }
        if (sleep > 0 && !self->stop) { /* the threads of OpenMP may need the processor */
            struct timespec until;
            timespec_get(&until, TIME_UTC);
            until.tv_nsec += sleep;
            if (until.tv_nsec >= 1000000000) {
                until.tv_nsec -= 1000000000;
                until.tv_sec += 1;
            }
            pthread_cond_timedwait(&self->stopped, &self->mutex, &until);
        }
    }
    pthread_mutex_unlock(&self->mutex);
    return NULL;
}

/** @brief `#pragma omp taskwait` with progress: wait until the child tasks of the calling task are complete,
 *         detached ones included, and until no continuation is registered with `cr` any more.
 *  @param cr the continuation request given to thence_omp_fulfill_event_after() in those tasks. Any options but
 *            `THENCE_CR_NEEDS_START`: such a CR would have to be started again whenever a task attaches after all
 *            others are complete.
 *            With `THENCE_CR_ANY_THREAD` and without `THENCE_CR_POLL_ONLY` the helper thread makes progress. Else
 *            this function starts a thread that tests `cr` until the wait is over, so the wait ends even if every
 *            OpenMP thread is blocked.
 *  @return `MPI_ERR_REQUEST` (`cr` is no live CR), `MPI_ERR_ARG` (it has `THENCE_CR_NEEDS_START`), `MPI_ERR_OTHER`
 *          (MPI was initialized below `MPI_THREAD_MULTIPLE`), `MPI_ERR_NO_MEM` (no thread could be started): it has not
 *          waited. Otherwise it has waited, and returns `MPI_SUCCESS`, or with `THENCE_CR_REPORT_FAILED` the error of
 *          the first failed continuation.
 *  @note Threads: counts as a test of `cr`, so one thread at a time per `cr`. Call it where `taskwait` may stand,
 *        not in a callback. It does not replace the wait of a barrier or a `taskgroup`: there only
 *        `THENCE_CR_ANY_THREAD` helps.
 *  @note Source: paper section 5.2, which runs a progress thread for the same reason. */
static inline int thence_omp_taskwait(MPI_Request cr) {
    thence_cr_info info;
    int level, rc;
    pthread_t thread;
    thence_omp_tester_ tester;

    rc = thence_cr_query(cr, &info, sizeof info);
    if (rc == MPI_SUCCESS) {
        rc = MPI_Query_thread(&level);
    }
    if (rc != MPI_SUCCESS) {
        return rc;
    }
    if (info.flags & THENCE_CR_NEEDS_START) {
        return MPI_ERR_ARG;
    }
    if (level < MPI_THREAD_MULTIPLE) {
        return MPI_ERR_OTHER;
    }
    if ((info.flags & THENCE_CR_ANY_THREAD) && !(info.flags & THENCE_CR_POLL_ONLY)) {
        thence_omp_wait_for_children_();
        return thence_wait(&cr, MPI_STATUS_IGNORE); /* a task may end before its callback has returned */
    }
    tester.cr = cr;
    tester.stop = 0;
    tester.error = MPI_SUCCESS;
    pthread_mutex_init(&tester.mutex, NULL);
    pthread_cond_init(&tester.stopped, NULL);
    rc = thence_start_thread_(&thread, thence_omp_test_until_stopped_, &tester) ? MPI_ERR_NO_MEM : MPI_SUCCESS;
    if (rc == MPI_SUCCESS) {
        thence_omp_wait_for_children_();
        pthread_mutex_lock(&tester.mutex);
        tester.stop = 1;
        pthread_cond_signal(&tester.stopped);
        pthread_mutex_unlock(&tester.mutex);
        pthread_join(thread, NULL);
        rc = thence_wait(&cr, MPI_STATUS_IGNORE);
        if (tester.error != MPI_SUCCESS) {
            rc = tester.error;
        }
    }
    pthread_cond_destroy(&tester.stopped);
    pthread_mutex_destroy(&tester.mutex);
    return rc;
}

#ifdef __cplusplus
}
#endif
