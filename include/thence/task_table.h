/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/** @file task_table.h
 *  @brief The table that a task runtime fills for task_runtime.h. C11 and C++. It needs no MPI, so that a runtime that
 *         knows nothing of MPI can provide one. */

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* NOLINTBEGIN(modernize-redundant-void-arg): C needs them */
/** @brief A task that waits, for reports. */
typedef struct thence_waiting_task {
    const char *label;        /**< Null: none. Valid during the call that reports the task, as the others. */
    const void *submitted_at; /**< An address in the code that submitted it, or null. */
    const char *state;        /**< What it waits for, in words: "is blocked". */
} thence_waiting_task;

/** @brief What a task runtime can do. A function pointer that is null is a part that is missing. Functions return 0, or
 *         an error number of the runtime's own. `task` is a handle of the runtime, never null. */
typedef struct thence_task_runtime {
    size_t size;      /**< `sizeof(thence_task_runtime)` of the program that fills the table. */
    const char *name; /**< For texts; not null. */

    /** The task that the calling thread runs now, or null. Must be there. May be called on any thread, often. */
    void *(*current)(void);

    /** Blocks the current task `task` until unblock() is called for it. The worker runs other tasks meanwhile. The task
     *  may continue on another thread. */
    int (*block)(void *task);
    /** Lets a task go on. Each block() pairs with one unblock(), on any thread, which may come first: block() then
     *  returns at once. */
    int (*unblock)(void *task);

    /** Raises the number of events of the current task by `n`. The task is not complete, and what depends on it does
     *  not start, before its body has ended and all events are lowered. */
    int (*raise_events)(void *task, uint64_t n);
    /** Lowers it by `n`, on any thread. What was written before is visible to what depends on the task. `error`:
     *  `MPI_SUCCESS`, or the error of an operation, which the runtime may report to the task's owner. */
    int (*lower_events)(void *task, uint64_t n, int error);

    /** Starts a task without dependences that runs `body(argument)`. `completed(completed_argument)` is called when it
     *  is complete, unless it is null. `label` names it in reports; null: none. */
    int (*spawn)(void (*body)(void *argument), void *argument, void (*completed)(void *argument),
                 void *completed_argument, const char *label);
    /** Blocks the current task for about `nanoseconds`; the worker runs other tasks meanwhile. Sets `*slept` to the
     *  nanoseconds that it really took, unless it is null. */
    int (*sleep_for)(uint64_t nanoseconds, uint64_t *slept);
    /** The number of workers, at least 1. */
    int (*workers)(void);

    /** For reports: calls `tell` with each task that waits, and sets `*active` to the number of tasks that run, are
     *  ready, or sleep for a time. Null if the runtime cannot count these: reports then name only tasks that wait in a
     *  call of MPI or of Thence. If none is active, only something outside of the tasks can end the wait of the others.
     *  Called on a thread of Thence's own, now and then, and only while stalls are reported (`THENCE_STALL`). */
    int (*waiting)(void (*tell)(const thence_waiting_task *task, void *data), void *data, uint64_t *active);

    /** Says what workers do that find no task: they call `poll` again and again before they sleep. It makes progress
     *  for MPI, and returns 0 if there is nothing that they could wait for. `poll` null: nothing any more; a worker may
     *  be in the call still. Called by thence_task_runtime_add() and thence_task_runtime_remove(). */
    void (*on_idle)(int (*poll)(void));
    /** Says what each worker does between two tasks, every 20 microseconds or so: it calls `poll` once. So a worker
     *  that has tasks makes progress itself, and the library's own thread, which would take a processor from it,
     *  sleeps. The rest is as for on_idle(). */
    void (*between_tasks)(int (*poll)(void));
} thence_task_runtime;
/* NOLINTEND(modernize-redundant-void-arg) */

#ifdef __cplusplus
}
#endif
