/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/** @file task_runtime.h
 *  @brief The table of what a task runtime can do, and what Thence does with it: an MPI call in a task blocks the task,
 *         or delays its end, and never the worker that runs it. C11 and C++.
 *
 *  A runtime fills a `thence_task_runtime` (task_table.h) and adds it. Any part may be missing. A call that needs a
 *  missing part returns `MPI_ERR_UNSUPPORTED_OPERATION`, and its text names the runtime and the part. Several runtimes
 *  may be in one process: *the current task* is that of the runtime that was added last and is running a task on this
 *  thread.
 *
 *  Errors: as thence.h says.
 *
 *  Source: Sala et al. 2021, "Combining one-sided communications with task-based programming models", sections 2 and 5;
 *  Schuchart et al. 2020, "Fibers are not (P)Threads", section 5. */

#include <pthread.h>

#include <thence/task_table.h>
#include <thence/thence.h>

#ifdef __cplusplus
extern "C" {
#endif

/** @brief A task of some runtime. */
typedef struct thence_task {
    const thence_task_runtime *runtime; /**< Null: no task. */
    void *handle;                       /**< The runtime's own. */
} thence_task;

/** @brief Add a runtime.
 *  @param runtime a table that stays valid and unchanged until it is removed.
 *  @return `MPI_ERR_ARG` (null table, name or `current`; a size below that of version 0.1; block() without unblock() or
 *          the reverse; raise_events() without lower_events() or the reverse; the table is added already);
 *          `MPI_ERR_NO_MEM` (8 are added).
 *  @note Threads: any. May be called before MPI_Init. */
THENCE_EXPORT int thence_task_runtime_add(const thence_task_runtime *runtime);

/** @brief Remove a runtime. None of its tasks may be blocked here or wait for events of operations.
 *  @param runtime the table that was added.
 *  @return `MPI_ERR_ARG` (it is not added).
 *  @note Threads: any, but no thread may be in a call of this header with one of its tasks. */
THENCE_EXPORT int thence_task_runtime_remove(const thence_task_runtime *runtime);

/** @brief The runtimes that are added, in the order in which they are asked for the current task.
 *  @param index     0 for the first.
 *  @param[out] runtime the table, or null if there are no more than `index`.
 *  @return `MPI_ERR_ARG` (negative `index`, null `runtime`).
 *  @note Threads: any. */
THENCE_EXPORT int thence_task_runtime_get(int index, const thence_task_runtime **runtime);

/** @brief The table of plain threads: a thread is a task that can be blocked. Everything else is missing, since nothing
 *         depends on the end of a thread. Every thread has a current task once it is added, so add it first: Thence
 *         asks the tables in reverse order of their addition.
 *  @return the table; the same each time. It is not added yet.
 *  @note Threads: any. */
THENCE_EXPORT const thence_task_runtime *thence_task_runtime_threads(void);

/** @brief The table of tasks that end with an event, such as detached tasks of OpenMP: their end can be delayed, and
 *         they cannot be blocked. The runtime does not say which task a thread runs, so the body of each task says it,
 *         with thence_detached_begin() and thence_detached_end(). For OpenMP, omp.h has both.
 *  @return the table; the same each time. It is not added yet.
 *  @note Threads: any. */
THENCE_EXPORT const thence_task_runtime *thence_task_runtime_detached(void);

/** @brief The body of a detached task begins on this thread: the task is the current one until thence_detached_end().
 *         It holds one event, that of the body. Bodies may be nested, as when a task waits and its thread runs another
 *         one.
 *  @param complete called once, with `event`, when the body has ended and all events are lowered, on the thread that
 *                  did the last of both. It completes the task.
 *  @param event    passed to `complete`.
 *  @return `MPI_ERR_ARG` (null `complete`); `MPI_ERR_NO_MEM`: the caller must complete the task itself.
 *  @note Threads: the thread of the body. The body must stay on that thread (in OpenMP: tied tasks). */
THENCE_EXPORT int thence_detached_begin(void (*complete)(void *event), void *event);

/** @brief The body of the innermost detached task of this thread ends.
 *  @return `MPI_ERR_ARG` (none has begun on this thread).
 *  @note Threads: that of the body. */
THENCE_EXPORT int thence_detached_end(void);

/** @brief The body of a detached task comes to a place where its thread may run other tasks, such as a taskwait of
 *         OpenMP. Until thence_detached_resume() none is the current task, so a plain task that the thread runs there
 *         is not taken for the detached one.
 *  @param[out] paused what thence_detached_resume() needs; null if no body of such a task runs on this thread.
 *  @return `MPI_ERR_ARG` (null `paused`).
 *  @note Threads: that of the body. For OpenMP, omp.h has both. */
THENCE_EXPORT int thence_detached_pause(void **paused);

/** @brief The body goes on: its task is the current one again.
 *  @param paused what thence_detached_pause() gave to this body.
 *  @return `MPI_ERR_ARG` (a body that has begun on this thread meanwhile has not ended): nothing has changed.
 *  @note Threads: that of the body. */
THENCE_EXPORT int thence_detached_resume(void *paused);

/* For thence/omp.h: as pthread_create(), and the thread blocks the signals of the program, for which strict C declares
 * nothing. */
THENCE_EXPORT int thence_start_thread_(pthread_t *thread, void *(*function)(void *), void *argument);

/** @brief The table of the runtime that exports ALPI 1.0 or later in this process (nOS-V, Nanos6, `libthence-alpi`).
 *         Its functions are looked up by name, so nothing is linked.
 *  @param[out] runtime the table, the same each time; null: there is none. It is not added yet.
 *  @param[out] why     a text: name and version of the runtime, or why there is no table. May be null.
 *  @return `MPI_ERR_ARG` (null `runtime`).
 *  @note Threads: any.
 *  @note Source: ALPI 1.2. */
THENCE_EXPORT int thence_task_runtime_alpi(const thence_task_runtime **runtime, const char **why);

/* For libthence-tampi and libthence-tagaspi: the runtimes with ALPI and of detached tasks are added, unless they are.
 * Each use is followed by one release; the last removes what was added so. */
THENCE_EXPORT void thence_task_runtimes_use_(void);
THENCE_EXPORT void thence_task_runtimes_release_(void);
/* For libthence-tampi: whether a task is to poll for the operations of tasks, and no helper thread. */
THENCE_EXPORT int thence_tasks_poll_(void);

/** @brief The current task.
 *  @param[out] task its runtime and handle; both null outside of tasks.
 *  @return `MPI_ERR_ARG` (null `task`).
 *  @note Threads: any. */
THENCE_EXPORT int thence_task_current(thence_task *task);

/** @brief The current task, if operations can be bound to it.
 *  @return the task; null outside of tasks, in tasks of a runtime without events, and on a thread that is not
 *          task-aware (thence_task_thread_aware()). The object belongs to the calling thread, and its next call changes
 *          it.
 *  @note Threads: any. Cost: one call of the runtime's `current`. thence_task_attach() is cheaper with this object than
 *        with a copy. */
THENCE_EXPORT const thence_task *thence_task_with_events(void);

/** @brief Delay the end of a task until `count` operations are complete: raises the events of the task by one now, and
 *         lowers them by one when all operations are complete. What depends on the task then starts.
 *  @param count    number of requests, at least 0.
 *  @param requests array of `count` active requests, as for thence_attach().
 *  @param flags    0 or `THENCE_PERSISTENT`.
 *  @param statuses array of `count` statuses, which are set before the event is lowered, or `MPI_STATUSES_IGNORE`. It
 *                  stays valid until then: it must not be on the task's stack.
 *  @param task     the task, as thence_task_current() gave it.
 *  @param cr       the continuation request to register with.
 *  @return as thence_attach(); `MPI_ERR_ARG` also for a null task; `MPI_ERR_UNSUPPORTED_OPERATION` if the runtime has
 *          no events: nothing has changed. If all operations were complete already, the events are as before, and the
 *          error of a failed one is returned.
 *  @note Threads: where the runtime lets a task raise its events: in the task, and in its `onready` action.
 *  @note Cost: that of thence_attach() and of the runtime's two functions, no allocation.
 *  @note Source: Sala et al. 2021, section 2: `TAMPI_Iwaitall`. */
THENCE_EXPORT int thence_task_attach(int count, MPI_Request requests[], unsigned flags, MPI_Status *statuses,
                                     const thence_task *task, MPI_Request cr);

/** @brief Block the current task until `count` operations are complete. The worker runs other tasks meanwhile.
 *  @param count    number of requests, at least 0.
 *  @param requests array of `count` active requests, as for thence_attach().
 *  @param flags    0 or `THENCE_PERSISTENT`.
 *  @param statuses array of `count` statuses, or `MPI_STATUSES_IGNORE`.
 *  @param cr       the continuation request to register with, best one with `THENCE_CR_ANY_THREAD`: a worker that
 *                  sleeps makes no progress. Not poll-only, and not one that needs a start.
 *  @return as thence_attach(), and once it has blocked, the error of the first failed operation;
 *          `MPI_ERR_UNSUPPORTED_OPERATION` outside of tasks, and if the runtime cannot block: nothing has changed.
 *  @note Threads: any task. Not in a callback.
 *  @note Source: Sala et al. 2021, section 2; Schuchart et al. 2021, listing 3. */
THENCE_EXPORT int thence_task_wait(int count, MPI_Request requests[], unsigned flags, MPI_Status *statuses,
                                   MPI_Request cr);

/** @brief From now on, a blocking call of MPI in a task blocks the task, and the worker runs other tasks meanwhile.
 *         Needs libthence, which interposes the calls.
 *
 *  It applies to MPI_Send, MPI_Ssend, MPI_Rsend, MPI_Recv, MPI_Mrecv, MPI_Sendrecv, MPI_Sendrecv_replace, MPI_Wait,
 *  MPI_Waitall and the blocking collectives, neighborhood collectives too: the task is blocked until the operations are
 *  complete. MPI_Waitany, MPI_Waitsome, MPI_Probe, MPI_Mprobe, and waits for persistent or continuation requests call
 *  the runtime's `sleep_for` between two tests, at most for 100 us, or make progress and yield the processor if the
 *  runtime has none. So does MPI_Win_wait. The other calls that synchronize windows (MPI_Win_fence, MPI_Win_start,
 *  MPI_Win_complete, MPI_Win_post, and all that lock, unlock and flush) have no nonblocking form: with
 *  `MPI_THREAD_MULTIPLE` a thread of the library makes the call, as many threads as there are such calls at a time, and
 *  the task is blocked meanwhile. It does not apply in callbacks, on threads that are not task-aware, in tasks of a
 *  runtime that cannot block, and to calls that only MPI itself can do: files, making and freeing windows and
 *  communicators.
 *
 *  MPI does not match a blocking collective with a nonblocking one. While this is on, each blocking collective of the
 *  process is done by its nonblocking form, in tasks and outside. So turn it on in all processes, before the first
 *  collective that any of them calls from a task.
 *
 *  @param cr the continuation request with which the operations of blocked tasks are registered, best one with
 *            `THENCE_CR_ANY_THREAD`; it stays live until this is turned off. `MPI_REQUEST_NULL` turns it off.
 *  @return `MPI_ERR_REQUEST` (`cr` is no live CR); `MPI_ERR_ARG` (it is poll-only or needs a start);
 *          `MPI_ERR_UNSUPPORTED_OPERATION` (libthence is not linked); `MPI_ERR_NO_MEM`.
 *  @note Threads: no other thread may be in a call of MPI, except that it waits in a blocked task of another CR.
 *  @note Cost: one call of the runtime's `current` for each blocking call.
 *  @note Source: Sala et al. 2021, section 2: the blocking mode of TAMPI. */
THENCE_EXPORT int thence_task_blocking_calls(MPI_Request cr);

/** @brief Wait for callbacks of a continuation request that have begun on other threads, and say whether it is idle
 *         then. For the end of a library that binds operations to tasks.
 *
 *  A callback lowers the event of a task, and the task may be complete before the callback has returned. So when all
 *  tasks are complete, thence_cr_query() may still count a continuation as registered. This call waits for it.
 *  @param cr        a continuation request.
 *  @param[out] flag 1: no continuation is registered. 0: an operation is not complete, or a callback has not begun, or
 *                   the calling thread is in a callback of this continuation request. For these it does not wait.
 *  @return `MPI_ERR_ARG` (null `flag`); `MPI_ERR_REQUEST` (`cr` is no live CR).
 *  @note Threads: any; none attaches to an operation with `cr` meanwhile. Not in an error handler.
 *  @note Cost: looks at all continuations of the process. */
THENCE_EXPORT int thence_task_wait_callbacks(MPI_Request cr, int *flag);

/** @brief Say whether blocking calls of the calling thread may block a task, see thence_task_blocking_calls(). Every
 *         thread is task-aware at first.
 *  @param aware       1: yes; 0: no, its calls block the thread; -1: no change.
 *  @param[out] before what it was, 0 or 1; may be null.
 *  @return `MPI_SUCCESS`.
 *  @note Threads: any; concerns the calling thread only. May be called before MPI_Init.
 *  @note Source: the property `TAMPI_PROPERTY_THREAD_TASKAWARE` of TAMPI. */
THENCE_EXPORT int thence_task_thread_aware(int aware, int *before);

#ifdef __cplusplus
}
#endif
