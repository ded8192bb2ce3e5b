/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/** @file dataflow.h
 *  @brief The tasks of `thence/dataflow.hpp` in C: tasks with data dependences on oneTBB. Link `thence::tasks`.
 *
 *  Inside a task these calls mean the flow of that task; outside of tasks, the flow of the process, which is made by
 *  the first call. `thence/dataflow.hpp` describes what each call means. Tasks are `void *`, valid until they are
 *  complete.
 *
 *  Calls return 0, or a value of `errno.h`; then nothing has changed. `EINVAL`: a bad argument. `EPERM`: not allowed
 *  here, such as blocking outside of a task. `EALREADY`: unblocked twice. `ENOMEM`: no memory or threads. Calls may be
 *  made by any thread at any time unless their text says otherwise.
 *
 *  Source: as `thence/dataflow.hpp`. */

#include <stddef.h>
#include <stdint.h>

struct thence_task_runtime; /* thence/task_table.h */

#if defined(__GNUC__)
#define THENCE_FLOW_EXPORT __attribute__((visibility("default")))
#else
#define THENCE_FLOW_EXPORT
#endif

#ifdef __cplusplus
extern "C" {
#endif

/** @brief Kinds of accesses, as `thence::access_kind`. */
typedef enum thence_flow_kind {
    THENCE_FLOW_IN = 0,
    THENCE_FLOW_CONCURRENT = 1,
    THENCE_FLOW_COMMUTATIVE = 2,
    THENCE_FLOW_OUT = 3,
    THENCE_FLOW_INOUT = 4
} thence_flow_kind;

/** @brief What a task does with the data at an address. The address is a key only. */
typedef struct thence_flow_access {
    const void *start;
    thence_flow_kind kind;
} thence_flow_access;

/** @brief Options of a task. Zero-initialize it, so that what is added later is off. */
typedef struct thence_flow_options {
    int priority;               /**< of two tasks that are ready, the one with the higher priority begins first */
    const char *label;          /**< a name for reports, or NULL; must stay valid until the task is complete */
    void (*onready)(void *arg); /**< called when the dependences are met, before the body; or NULL */
    void *onready_arg;          /**< its argument */
} thence_flow_options;

/** @brief Submit a task.
 *  @param count    number of accesses. @param accesses array of `count`, copied; may be NULL if `count` is 0.
 *  @param body     called once with `arg`. Must not throw.
 *  @param options  NULL for the defaults.
 *  @return `EINVAL` for a null `body`, null `accesses` with a `count`, or an unknown kind; `EPERM` inside onready;
 *          `ENOMEM`. */
THENCE_FLOW_EXPORT int thence_flow_submit(size_t count, const thence_flow_access *accesses, void (*body)(void *arg),
                                          void *arg, const thence_flow_options *options);

/** @brief Wait until all children of the calling task are complete; outside of tasks, all that were submitted there.
 *  @return `EIO` if an event of a child was lowered with an error: then tasks have been skipped (use
 *          thence_flow_failure() for the error); `EPERM` inside onready. */
THENCE_FLOW_EXPORT int thence_flow_taskwait(void);

/** @brief Wait until all tasks are complete that a task with these accesses would depend on.
 *  @return as thence_flow_taskwait() (which returns `EIO` again) and thence_flow_submit(). */
THENCE_FLOW_EXPORT int thence_flow_taskwait_on(size_t count, const thence_flow_access *accesses);

/** @brief The error that the last `EIO` on this thread stands for: that of thence_flow_lower_error(), or -1 for a C++
 *         exception. Ask before anything else can suspend the task. */
THENCE_FLOW_EXPORT int thence_flow_failure(void);

/** @brief Start a task that is nobody's child: no taskwait waits for it, and what it submits are its children.
 *  @param body           called once with `args`. Must not throw.
 *  @param completed      called with `completed_args` when the task is complete, on any thread; or NULL.
 *  @param label          a name for reports, or NULL; must stay valid until the task is complete.
 *  @return `EINVAL` for a null `body`; `ENOMEM`. */
THENCE_FLOW_EXPORT int thence_flow_spawn(void (*body)(void *), void *args, void (*completed)(void *),
                                         void *completed_args, const char *label);

/** @brief The task whose body or onready function calls this; NULL outside of tasks. */
THENCE_FLOW_EXPORT void *thence_flow_current(void);

/** @brief Block the calling task until thence_flow_unblock(), which may come first.
 *  @param task the calling task.
 *  @return `EPERM` if it is not, and inside onready. */
THENCE_FLOW_EXPORT int thence_flow_block(void *task);

/** @brief Let a task go on that is blocked, or will block next; at most one ahead.
 *  @return `EALREADY` if one is ahead already, or the task is seen to be complete; `EINVAL` for NULL. */
THENCE_FLOW_EXPORT int thence_flow_unblock(void *task);

/** @brief Add `n` to the events of the calling task. @return `EPERM` if `task` is not the calling task (or the task
 *         whose onready calls), `EINVAL` for NULL. */
THENCE_FLOW_EXPORT int thence_flow_raise(void *task, uint64_t n);

/** @brief Take `n` from the events of a task; the last one completes it, or makes it ready if onready raised them.
 *  @return `EINVAL` if it has fewer events. */
THENCE_FLOW_EXPORT int thence_flow_lower(void *task, uint64_t n);

/** @brief As thence_flow_lower(). If `error` is not 0, what the task waited for went wrong: its siblings that have
 *         not begun are skipped, and thence_flow_taskwait() returns `EIO`. */
THENCE_FLOW_EXPORT int thence_flow_lower_error(void *task, uint64_t n, int error);

/** @brief The calling task sleeps at least `ns` nanoseconds, and its worker runs other tasks; with 0, tasks that are
 *         ready go first. Outside of tasks the thread sleeps.
 *  @param[out] slept_ns the time that has passed; may be NULL. @return `ENOMEM`. */
THENCE_FLOW_EXPORT int thence_flow_sleep_for(uint64_t ns, uint64_t *slept_ns);

/** @brief How many threads run tasks of this flow, besides those that wait in it. */
THENCE_FLOW_EXPORT int thence_flow_workers(void);

/** @brief What workers of all flows do that find no task: they call `poll` again and again, for up to 50 microseconds
 *         after the last task, while it does not return 0. While it returns 2, one worker of each flow goes on for up
 *         to 25 milliseconds: `poll` knows that no other thread waits for a processor. Then they sleep until a task is
 *         ready.
 *  @param poll any thread may call it, also several at a time; NULL: nothing any more. A worker may be in the call
 *              still. If a call lasts, a task that is ready runs on another worker, if one is free, usually within 5
 *              ms.
 *  @note thence_task_runtime_add() calls it, so that idle workers make progress for MPI. */
THENCE_FLOW_EXPORT void thence_flow_on_idle(int (*poll)(void));

/** @brief What workers of all flows do between two tasks, at most every 20 microseconds: they call `poll` once. Its
 *         result counts for nothing. The rest is as for thence_flow_on_idle(), also if a call lasts.
 *  @note thence_task_runtime_add() calls it, so that workers make progress for MPI while they have tasks. */
THENCE_FLOW_EXPORT void thence_flow_between_tasks(int (*poll)(void));

/** @brief The table of these tasks for `thence/task_runtime.h`, by which MPI calls in a task block the task or delay
 *         its end: `thence_task_runtime_add(thence_flow_task_runtime())`. It has all parts. An operation that fails
 *         ends the wave, as thence_flow_lower_error() does, with the error code of MPI.
 *  @return the table; the same each time. It is not added yet. */
THENCE_FLOW_EXPORT const struct thence_task_runtime *thence_flow_task_runtime(void);

/** @brief A line of thence_flow_report(): a task that waits, and for what. */
typedef struct thence_flow_waiting {
    const char *label;        /**< or NULL */
    const void *submitted_at; /**< an address in the code that submitted it */
    const char *state;        /**< what it waits for, in words */
    uint64_t events;          /**< those that have not been lowered */
} thence_flow_waiting;

/** @brief Calls `tell` for each task of the process that is blocked, sleeps, or waits for events, children or earlier
 *         tasks. While tasks run, this is a hint; labels must stay valid meanwhile. @return `ENOMEM`, `EINVAL` for
 *         NULL. */
THENCE_FLOW_EXPORT int thence_flow_report(void (*tell)(const thence_flow_waiting *task, void *data), void *data);

#ifdef __cplusplus
}
#endif
