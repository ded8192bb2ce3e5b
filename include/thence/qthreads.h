/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/** @file qthreads.h
 *  @brief Qthreads: a qthread is a task that MPI operations block; its worker runs other qthreads meanwhile. C11 and
 *  C++.
 *
 *      qthread_initialize();
 *      thence_task_runtime_add(thence_qthreads_task_runtime());
 *
 *  After that thence_task_wait(), and with thence_task_blocking_calls() or TAMPI every blocking call of MPI, blocks the
 *  qthread that calls it. The thread that has called qthread_initialize() is a qthread too. On a thread that is no
 *  worker the calls do what they do without this table. They must not be used in qthreads that are started with
 *  `QTHREAD_SPAWN_SIMPLE`, which cannot be blocked.
 *
 *  A worker makes no progress for MPI by itself. Choose one of these:
 *  - a continuation request with `THENCE_CR_ANY_THREAD`, so that the library's helper thread makes progress;
 *  - a qthread that calls thence_progress() and qthread_yield() in a loop until the others are done.
 *
 *  The helper thread is no worker, and Qthreads lets only workers fill a full/empty bit. So it starts a small qthread
 *  that does that, and does not wait for it. If all workers are busy, the blocked qthread goes on when one of them is
 *  free. A qthread has a stack of 32 KiB by default, and a call of MPI that needs more overwrites other memory: set
 *  `QT_STACK_SIZE=131072` before qthread_initialize().
 *
 *  Link Qthreads (`-lqthread`). Source: Schuchart et al. 2021, "Callback-based completion notification using MPI
 *  Continuations", listing 3 (block and unblock). */

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/select.h>

#include <qthread/qthread.h>
#include <qthread/qtimer.h>

#include <thence/detail/spawned_body.h>
#include <thence/task_runtime.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One side of a pair of block() and unblock() that waits for the other. Of the task that is blocked, it lies on the
 * stack of the task; of an unblock() that came first, it is on the heap. */
typedef struct thence_qthreads_side_ {
    struct thence_qthreads_side_ *next;
    void *task;
    int is_blocked;
    aligned_t unblocked; /* its full/empty bit, if the task is blocked: empty until it may go on */
} thence_qthreads_side_;

/* Qthreads has nothing that belongs to a qthread and that its end frees. So the handle of a qthread is its number, and
 * a hash table has the sides that wait. Invariant: of one task at most one side is in the table. A row's lock is never
 * held while qthreads are switched. */
typedef struct thence_qthreads_row_ {
    char locked;
    thence_qthreads_side_ *first;
} thence_qthreads_row_;

static inline thence_qthreads_row_ *thence_qthreads_lock_row_(void *task) {
    static thence_qthreads_row_ rows[1024];
    thence_qthreads_row_ *row = &rows[(uintptr_t)task % 1024];
    for (int spins = 0; __atomic_test_and_set(&row->locked, __ATOMIC_ACQUIRE);) {
        if (++spins > 512) { /* the holder may wait for this processor */
            struct timeval length = {0, 20};
            select(0, NULL, NULL, NULL, &length); /* C11 without POSIX does not declare nanosleep() */
        }
    }
    return row;
}
static inline void thence_qthreads_unlock_row_(thence_qthreads_row_ *row) {
    __atomic_clear(&row->locked, __ATOMIC_RELEASE);
}
/* Takes the side of `task` out of its locked row; null: there is none. */
static inline thence_qthreads_side_ *thence_qthreads_take_(thence_qthreads_row_ *row, void *task) {
    thence_qthreads_side_ **link = &row->first;
    while (*link != NULL && (*link)->task != task) {
        link = &(*link)->next;
    }
    if (*link == NULL) {
        return NULL;
    }
    {
        thence_qthreads_side_ *found = *link;
        *link = found->next;
        return found;
    }
}
static inline void thence_qthreads_put_(thence_qthreads_row_ *row, thence_qthreads_side_ *side) {
    side->next = row->first;
    row->first = side;
}

/* The number is 0 outside of qthreads. Before qthread_initialize() only qthread_shep() may be called. */
static inline void *thence_qthreads_current_(void) {
    return qthread_shep() == NO_SHEPHERD ? NULL : (void *)(uintptr_t)qthread_id();
}

static inline int thence_qthreads_block_(void *task) {
    thence_qthreads_side_ self;
    int rc;
    thence_qthreads_row_ *row = thence_qthreads_lock_row_(task);
    thence_qthreads_side_ *before = thence_qthreads_take_(row, task);
    if (before != NULL) {
        thence_qthreads_unlock_row_(row);
        free(before);
        return 0;
    }
    self.task = task;
    self.is_blocked = 1;
    rc = qthread_empty(&self.unblocked); /* does not wait */
    if (rc == QTHREAD_SUCCESS) {
        thence_qthreads_put_(row, &self);
    }
    thence_qthreads_unlock_row_(row);
    return rc == QTHREAD_SUCCESS ? qthread_readFF(NULL, &self.unblocked) : rc;
}

static inline aligned_t thence_qthreads_fill_(void *unblocked) {
    return (aligned_t)qthread_fill((const aligned_t *)unblocked);
}

static inline int thence_qthreads_unblock_(void *task) {
    thence_qthreads_row_ *row = thence_qthreads_lock_row_(task);
    thence_qthreads_side_ *side = thence_qthreads_take_(row, task);
    if (side == NULL || !side->is_blocked) {
        if (side == NULL) { /* else there are two calls for one block(): one is enough */
            side = (thence_qthreads_side_ *)malloc(sizeof *side);
        }
        if (side != NULL) {
            side->task = task;
            side->is_blocked = 0;
            thence_qthreads_put_(row, side);
        }
        thence_qthreads_unlock_row_(row);
        return side != NULL ? 0 : QTHREAD_MALLOC_ERROR;
    }
    thence_qthreads_unlock_row_(row);
    /* `side` exists until its bit is filled. On a thread that is no worker qthread_fill() would wait for a qthread. */
    if (qthread_shep() != NO_SHEPHERD) {
        return qthread_fill(&side->unblocked);
    }
    return qthread_spawn(thence_qthreads_fill_, &side->unblocked, 0, NULL, 0, NULL, NO_SHEPHERD, QTHREAD_SPAWN_SIMPLE);
}

static inline aligned_t thence_qthreads_run_(void *data) {
    thence_spawned_body_run_(data);
    return 0;
}

static inline int thence_qthreads_spawn_(void (*body)(void *), void *argument, void (*completed)(void *),
                                         void *completed_argument, const char *label) {
    thence_spawned_body_ *data = thence_spawned_body_make_(body, argument, completed, completed_argument);
    int rc;
    (void)label;
    if (data == NULL) {
        return QTHREAD_MALLOC_ERROR;
    }
    rc = qthread_fork(thence_qthreads_run_, data, NULL);
    if (rc != QTHREAD_SUCCESS) {
        free(data);
    }
    return rc;
}

/* Qthreads has no timers that wake a qthread, so it yields until the time is over. */
static inline int thence_qthreads_sleep_(uint64_t nanoseconds, uint64_t *slept) {
    qtimer_t timer = qtimer_create();
    double seconds;
    if (timer == NULL) {
        return QTHREAD_MALLOC_ERROR;
    }
    qtimer_start(timer);
    do {
        qthread_yield();
        qtimer_stop(timer);
        seconds = qtimer_secs(timer);
    } while (seconds * 1e9 < (double)nanoseconds);
    qtimer_destroy(timer);
    if (slept != NULL) {
        *slept = (uint64_t)(seconds * 1e9);
    }
    return 0;
}

static inline int thence_qthreads_workers_(void) {
    const int number = qthread_num_workers();
    return number > 0 ? number : 1;
}

/** @brief The table of Qthreads (task_runtime.h): qthreads can be blocked, started, and can sleep. They have no events,
 *         since what waits for a qthread waits for its return value.
 *  @return the table; the same each time in one source file, so add and remove it in the same file. It is not added
 *  yet.
 *  @note Threads: any. Its `spawn`, `sleep_for` and `workers` need qthread_initialize() before. A sleeping qthread
 *        yields until the time is over.
 *  @note Cost: no allocation but for an unblock() that comes before its block().
 *  @note Remove the table, and free the continuation requests, before qthread_finalize(). */
static inline const thence_task_runtime *thence_qthreads_task_runtime(void) {
    static const thence_task_runtime table = {sizeof(thence_task_runtime),
                                              "Qthreads",
                                              thence_qthreads_current_,
                                              thence_qthreads_block_,
                                              thence_qthreads_unblock_,
                                              NULL,
                                              NULL,
                                              thence_qthreads_spawn_,
                                              thence_qthreads_sleep_,
                                              thence_qthreads_workers_,
                                              NULL,
                                              NULL,
                                              NULL};
    return &table;
}

#ifdef __cplusplus
}
#endif
