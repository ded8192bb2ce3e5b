/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/** @file argobots.h
 *  @brief Argobots: a user-level thread (ULT) is a task that MPI operations block; its execution stream runs other ULTs
 *         meanwhile. C11 and C++, Argobots 1.0 or later.
 *
 *      thence_task_runtime_add(thence_argobots_task_runtime());
 *
 *  After that thence_task_wait(), and with thence_task_blocking_calls() or TAMPI every blocking call of MPI, blocks the
 *  ULT that calls it. On a thread that runs no ULT, and in a tasklet, the calls do what they do without this table.
 *
 *  An execution stream makes no progress for MPI by itself. Choose one of these:
 *  - a continuation request with `THENCE_CR_ANY_THREAD`, so that the library's helper thread makes progress;
 *  - a ULT that calls thence_progress() and ABT_thread_yield() in a loop until the others are done.
 *
 *  The helper thread is no execution stream, and it makes ULTs ready. So the pools must allow that: the default ones
 *  do, pools with `ABT_POOL_ACCESS_PRIV` do not. A ULT has a stack of 16 KiB, and a call of MPI that needs more
 *  overwrites other memory: set `ABT_THREAD_STACKSIZE=131072` before ABT_init(), or use
 *  ABT_thread_attr_set_stacksize().
 *
 *  Link Argobots (pkg-config `argobots`). Source: Schuchart et al. 2021, "Callback-based completion notification using
 *  MPI Continuations", listing 3 (block and unblock). */

#include <stdint.h>
#include <stdlib.h>
#include <time.h> /* abt.h needs it */

#include <abt.h>

#include <thence/detail/spawned_body.h>
#include <thence/task_runtime.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The handle of a ULT is its eventual, which a key of Argobots associates with it and frees with it. The eventual is
 * ready from unblock() to the end of block(), so it does not matter which of them comes first. ABT_self_suspend() would
 * need more: ABT_thread_resume() refuses a ULT that is not suspended yet. */
static inline void thence_argobots_free_(void *task) {
    ABT_eventual eventual = (ABT_eventual)task;
    ABT_eventual_free(&eventual);
}

/* Made by the first ULT that needs it, once for each source file: a key outlives ABT_finalize(). */
static inline ABT_key thence_argobots_key_(void) {
    static ABT_key made; /* null until then */
    ABT_key key = __atomic_load_n(&made, __ATOMIC_ACQUIRE);
    ABT_key none = NULL;
    if (key != NULL) {
        return key;
    }
    if (ABT_key_create(thence_argobots_free_, &key) != ABT_SUCCESS) {
        return NULL;
    }
    if (__atomic_compare_exchange_n(&made, &none, key, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
        return key;
    }
    ABT_key_free(&key); /* another ULT was faster */
    return none;
}

static inline void *thence_argobots_current_(void) {
    ABT_unit_type type;
    ABT_key key;
    ABT_eventual eventual;
    void *task = NULL;
    if (ABT_initialized() != ABT_SUCCESS || ABT_self_get_type(&type) != ABT_SUCCESS || type != ABT_UNIT_TYPE_THREAD) {
        return NULL;
    }
    key = thence_argobots_key_();
    if (key == NULL || ABT_self_get_specific(key, &task) != ABT_SUCCESS) {
        return NULL;
    }
    if (task != NULL) {
        return task;
    }
    if (ABT_eventual_create(0, &eventual) != ABT_SUCCESS) {
        return NULL;
    }
    if (ABT_self_set_specific(key, eventual) == ABT_SUCCESS) {
        return eventual;
    }
    ABT_eventual_free(&eventual);
    return NULL;
}

static inline int thence_argobots_block_(void *task) {
    int rc = ABT_eventual_wait((ABT_eventual)task, NULL);
    return rc == ABT_SUCCESS ? ABT_eventual_reset((ABT_eventual)task) : rc;
}

static inline int thence_argobots_unblock_(void *task) {
    return ABT_eventual_set((ABT_eventual)task, NULL, 0);
}

/* Into the pool of the caller, so the caller must be a ULT or a tasklet. */
static inline int thence_argobots_spawn_(void (*body)(void *), void *argument, void (*completed)(void *),
                                         void *completed_argument, const char *label) {
    ABT_pool pool;
    thence_spawned_body_ *data;
    int rc = ABT_self_get_last_pool(&pool);
    (void)label;
    if (rc != ABT_SUCCESS) {
        return rc;
    }
    data = thence_spawned_body_make_(body, argument, completed, completed_argument);
    if (data == NULL) {
        return ABT_ERR_MEM;
    }
    /* unnamed: frees itself */
    rc = ABT_thread_create(pool, thence_spawned_body_run_, data, ABT_THREAD_ATTR_NULL, NULL);
    if (rc != ABT_SUCCESS) {
        free(data);
    }
    return rc;
}

/* Argobots has no timers: what waits for a time there yields until the time is over. */
static inline int thence_argobots_sleep_(uint64_t nanoseconds, uint64_t *slept) {
    const double begun = ABT_get_wtime();
    double seconds;
    do {
        ABT_thread_yield();
        seconds = ABT_get_wtime() - begun;
    } while (seconds * 1e9 < (double)nanoseconds);
    if (slept != NULL) {
        *slept = (uint64_t)(seconds * 1e9);
    }
    return 0;
}

static inline int thence_argobots_workers_(void) {
    int number = 0;
    return ABT_xstream_get_num(&number) == ABT_SUCCESS && number > 0 ? number : 1;
}

/** @brief The table of Argobots (task_runtime.h): ULTs can be blocked, started, and can sleep. They have no events,
 *         since nothing depends on the end of a ULT but its join.
 *  @return the table; the same each time in one source file, so add and remove it in the same file. It is not added
 *  yet.
 *  @note Threads: any, also before ABT_init(). Its `spawn` is for ULTs and tasklets, and puts the new ULT into the pool
 *        of the caller; on another thread it returns an error of Argobots. A sleeping ULT yields until the time is
 *        over.
 *  @note Cost: the first call of MPI in a ULT allocates an eventual for it, which is freed with the ULT.
 *  @note Remove the table, and free the continuation requests, before ABT_finalize(). */
static inline const thence_task_runtime *thence_argobots_task_runtime(void) {
    static const thence_task_runtime table = {sizeof(thence_task_runtime),
                                              "Argobots",
                                              thence_argobots_current_,
                                              thence_argobots_block_,
                                              thence_argobots_unblock_,
                                              NULL,
                                              NULL,
                                              thence_argobots_spawn_,
                                              thence_argobots_sleep_,
                                              thence_argobots_workers_,
                                              NULL,
                                              NULL,
                                              NULL};
    return &table;
}

#ifdef __cplusplus
}
#endif
