/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/** @file thence.h
 *  @brief Continuations on the requests of any stock MPI: the whole C API.
 *
 *  An *operation* is one active MPI request. A *continuation* is a callback with its data, attached to one or more
 *  operations; it runs once, after all of them are complete. A *continuation request* (CR) is an `MPI_Request` that
 *  stands for a set of continuations.
 *
 *  Every function returns `MPI_SUCCESS` or an MPI error code. *Returns `MPI_ERR_ARG`* means a code of that class:
 *  compare the class, which `MPI_Error_class` gives. The text of the code, which `MPI_Error_string` gives, names the
 *  call and what was wrong. (While MPI is not active the code is the class itself. On MPICH 4.0 it is too, since that
 *  returns wrong texts for such codes; a line on stderr has the text if errors are fatal.) A bad argument is reported
 *  through the error handler of `MPI_COMM_WORLD` if MPI is initialized, changes nothing and sets no output. A failed
 *  operation calls the error handler of its communicator, window or file only. Every function may be called between
 *  `MPI_Init` and `MPI_Finalize`, by any thread that may call MPI, and from inside a callback, unless its text says
 *  otherwise. *No live CR* means `MPI_REQUEST_NULL`, a request that MPI made, or a CR that was freed.
 *
 *  The semantics are those of MPI Continuations (Schuchart et al. 2021, "Callback-based completion notification using
 *  MPI Continuations", sections 2 and 3). `mpix_continue.h` and `mpix_continue_forum.h` offer them under the names and
 *  signatures of that paper and of the MPI Forum's later text.
 */

#include <mpi.h>
#include <stddef.h>

#if defined(__GNUC__)
#define THENCE_EXPORT __attribute__((visibility("default")))
#else
#define THENCE_EXPORT
#endif

#define THENCE_VERSION_MAJOR 0
#define THENCE_VERSION_MINOR 1
#define THENCE_VERSION_PATCH 0

#ifdef __cplusplus
extern "C" {
#endif

/** @brief The callback of a continuation.
 *  @param error    `MPI_SUCCESS`, or the error code of the first failed operation.
 *  @param statuses the pointer given to thence_attach(); the statuses it points to are set.
 *  @param data     the pointer given to thence_attach().
 *  @return `MPI_SUCCESS`; any other value marks the continuation as failed, see thence_get_failed().
 *
 *  A callback may call any MPI function, start operations and attach continuations, to its own CR too. No other
 *  continuation runs on this thread until it returns. It must not throw and must not `longjmp` out. The request
 *  of its operation may be released after it has returned. So on an MPI with a limited number of requests, allow for
 *  one more per thread.
 *
 *  With `THENCE_CR_IN_COMPLETION` the program promises more: the callbacks call MPI only to start nonblocking
 *  point-to-point operations and to cancel, and they may attach continuations. They may then run in the middle of MPI's
 *  progress, in a test, a wait or thence_progress(), where MPI finds a single point-to-point operation complete without
 *  error. So an answer is sent before MPI copies the next large message. Continuations that were ready before may run
 *  later. Requests are released when that progress is over.
 *
 *  No other thread makes progress meanwhile. So a callback that waits there, for MPI or for a mutex of a thread that is
 *  inside MPI, may wait for ever. libthence reports a blocking call of MPI in such a callback as `MPI_ERR_PENDING` to
 *  the error handler of `MPI_COMM_WORLD`. thence_test() and thence_wait() return that code if the CR is not complete,
 *  and thence_progress() makes no progress.
 *
 *  The option has no effect in these cases: together with `THENCE_CR_POLL_ONLY`, `THENCE_CR_NEEDS_START` or a limit of
 *  callbacks per test; on any MPI but Open MPI with its `ob1` layer and `MPI_THREAD_MULTIPLE`; with `THENCE_STALL`,
 *  `THENCE_TRACE` or `THENCE_SLOW_CONTINUATION`. thence_cr_query() tells whether it is in force. */
typedef int(thence_callback)(int error, MPI_Status *statuses, void *data);

/** @brief The callback of one of the operations of thence_attach_each().
 *  @param index  the index of the operation in `requests` of that call.
 *  @param error  `MPI_SUCCESS`, or the error code of the operation.
 *  @param status `&statuses[index]`, which is set, or `MPI_STATUS_IGNORE` if that call had no statuses.
 *  @param data   the pointer given to thence_attach_each().
 *  @return as thence_callback, whose rules hold. */
typedef int(thence_each_callback)(int index, int error, MPI_Status *status, void *data);

/* Options of a continuation request, for thence_cr_create(). The info key of the same meaning wins over the flag. */
#define THENCE_CR_POLL_ONLY (1U << 0)        /**< run continuations only while this CR is tested or waited for */
#define THENCE_CR_ENQUEUE_COMPLETE (1U << 1) /**< never report immediate completion: always run the callback */
#define THENCE_CR_ANY_THREAD (1U << 2)       /**< the library's own thread makes progress and runs the callbacks too */
#define THENCE_CR_SIGNAL_SAFE (1U << 3)      /**< the callbacks are async-signal safe (a hint) */
#define THENCE_CR_NEEDS_START (1U << 4)      /**< callbacks run only between MPI_Start/thence_start and completion */
#define THENCE_CR_REPORT_FAILED (1U << 5) /**< a failed continuation is kept for thence_get_failed() instead of run */
#define THENCE_CR_IN_COMPLETION (1U << 6) /**< callbacks may run inside MPI's own completion: see thence_callback */

/* clang-format would break these lines before the values. */
/* clang-format off */
/* Options of one continuation, for thence_attach(). */
#define THENCE_PERSISTENT (1U << 0)    /**< all requests are persistent; needed only where thence_query() says
                                            `detects_persistent == 0`, and there only for requests that were created
                                            without libthence in the program */
#define THENCE_INVOKE_FAILED (1U << 1) /**< run the callback with the error although the CR has
                                            `THENCE_CR_REPORT_FAILED` */
#define THENCE_MAY_RUN (1U << 2)       /**< the callback may run inside thence_attach() if everything is complete
                                            already; `flag` is then 0 */
/* clang-format on */

/** @brief Create a continuation request.
 *  @param flags    `THENCE_CR_` options, or 0.
 *  @param max_poll most continuations to run in one test of this CR; -1 for no limit.
 *  @param info     keys of the paper, section 3.5: `mpi_continue_poll_only`, `mpi_continue_enqueue_complete`,
 *                  `mpi_continue_async_signal_safe` (`true` or `false`), `mpi_continue_max_poll` (an integer >= -1),
 *                  `mpi_continue_thread` (`application` or `any`; `all` is a synonym of `any`). Other keys are ignored.
 *                  `any` is a hint: where the library's own thread cannot run, application threads alone run the
 *                  callbacks, and thence_cr_query() gives the flags without `THENCE_CR_ANY_THREAD`.
 *  @param[out] cr  the new continuation request, inactive.
 *  @return `MPI_ERR_ARG` for a null `cr`, unknown flags or `max_poll < -1`; `MPI_ERR_INFO_VALUE` for a bad value, or
 *          for `max_poll` 0 together with poll-only (nothing could ever run); `MPI_ERR_NO_MEM` when 65,536 CRs exist;
 *          `MPI_ERR_UNSUPPORTED_OPERATION` for the flag `THENCE_CR_ANY_THREAD` where the library's own thread cannot
 *          run: MPI was initialized below `MPI_THREAD_MULTIPLE`; or the MPI is MPICH or derived from it (Intel MPI) and
 *          the program is linked with libthence-core alone; or the system refuses one more thread. The text of the code
 *          says which. `MPI_ERR_OTHER` before `MPI_Init` and after `MPI_Finalize`.
 *  @note Threads: any. The first call selects the engine; `thence info` and thence_query() say which.
 *  @note The handle of a freed CR is used again. One that has named a CR without `THENCE_CR_REPORT_FAILED` is used for
 *        a CR with it only once 65,536 CRs have existed at a time, so a binding may keep which handles have it not. */
THENCE_EXPORT int thence_cr_create(unsigned flags, int max_poll, MPI_Info info, MPI_Request *cr);

/** @brief Attach one continuation to `count` operations and register it with `cr`.
 *  @param count    number of requests, at least 0.
 *  @param requests array of `count` active requests of any kind, continuation requests included. Non-persistent
 *                  ones are `MPI_REQUEST_NULL` on return and belong to the library; persistent ones stay usable:
 *                  all their continuations and your own completion call get the status. (Without libthence, those
 *                  that come after the completion may get an empty status.) A null or inactive request counts as
 *                  complete with an empty status. So does a continuation request that becomes complete, with the error
 *                  that a test of it would return.
 *  @param callback runs once, after all operations are complete. Never inside this call (unless `THENCE_MAY_RUN`).
 *  @param data     passed to the callback.
 *  @param flags    `THENCE_` options, or 0.
 *  @param statuses array of `count` statuses, or `MPI_STATUSES_IGNORE`; the field `MPI_ERROR` of each is set too. It
 *                  stays valid until the callback has run. Where none runs: until this call returns with `flag == 1`,
 *                  or, of a failed continuation that is kept for thence_get_failed(), until that has given its `data`
 *                  or the CR was found complete.
 *  @param cr       the continuation request that keeps track.
 *  @param[out] flag 1: all operations were complete already, the statuses are set, the callback will not run. 0: the
 *                  callback will run. On MPICH before 4.3 and Intel MPI a test of the operation costs a progress call.
 *                  After 1,000 tests that found nothing, most calls for one operation skip it there and set 0; if the
 *                  operation is complete, the callback runs soon. May be null with `THENCE_CR_ENQUEUE_COMPLETE` or
 *                  `THENCE_MAY_RUN`, where it is always 0.
 *  @return `MPI_ERR_ARG` (negative count, null callback, requests or flag, unknown flags); `MPI_ERR_REQUEST` (`cr` is
 *          no live CR, or is itself among the requests); `MPI_ERR_NO_MEM`. With `flag == 1` and a failed operation:
 *          that operation's error (`count == 1`) or `MPI_ERR_IN_STATUS`, as `MPI_Test` and `MPI_Testall` return them.
 *  @note Threads: any number at once, with the same `cr` too. Cost: O(count), no allocation in steady state.
 *  @note Source: paper section 2.2. */
THENCE_EXPORT int thence_attach(int count, MPI_Request requests[], thence_callback *callback, void *data,
                                unsigned flags, MPI_Status *statuses, MPI_Request cr, int *flag);

/** @brief Attach one continuation to each of `count` operations: as `count` calls of thence_attach(), each for one
 *         operation, but with one check of the arguments, and none is attached if one of them is bad.
 *
 *  It is for a program that starts many operations at once and goes on after each of them on its own. (One callback
 *  after all of them: thence_attach().)
 *  @param count    number of operations, at least 0.
 *  @param requests array of `count` requests, as for thence_attach(): those that are not persistent are
 *                  `MPI_REQUEST_NULL` on return.
 *  @param callback runs once for each operation, with its index, in any order. Never inside this call (unless
 *                  `THENCE_MAY_RUN`). Other threads may run the first callbacks before this call returns.
 *  @param data     passed to every callback.
 *  @param flags    `THENCE_` options for all of them, or 0.
 *  @param statuses array of `count` statuses, or `MPI_STATUSES_IGNORE`. `statuses[i]` belongs to operation `i`. It
 *                  stays valid as for thence_attach().
 *  @param cr       the continuation request that keeps track.
 *  @param[out] outcount how many operations were complete already: their statuses are set, the callback will not run
 *                  for them. Calls of thence_attach() would have returned `flag == 1` for these.
 *  @param[out] indices array of `count` integers; the first `outcount` are set to the indices of these operations,
 *                  ascending. Both may be null with `THENCE_CR_ENQUEUE_COMPLETE` or `THENCE_MAY_RUN`, where there are
 *                  none.
 *  @return `MPI_ERR_ARG` (negative count, null callback, requests, outcount or indices, unknown flags);
 *          `MPI_ERR_REQUEST` (`cr` is no live CR, or is itself among the requests); `MPI_ERR_NO_MEM`: nothing is
 *          attached, unless a callback of this call has run already (`THENCE_MAY_RUN`). `MPI_ERR_IN_STATUS` if an
 *          operation in `indices` has failed: all are attached or complete, and `MPI_ERROR` of the statuses says which,
 *          as MPI_Testsome does.
 *  @note Threads: as thence_attach(). Cost: O(count), per operation less than a call of thence_attach(); no allocation
 *        in steady state. */
THENCE_EXPORT int thence_attach_each(int count, MPI_Request requests[], thence_each_callback *callback, void *data,
                                     unsigned flags, MPI_Status *statuses, MPI_Request cr, int *outcount,
                                     int indices[]);

/** @brief As thence_attach(), with data that the library owns: it copies them, so that the caller's may go at once.
 *  @param count    as for thence_attach(); so are `requests`, `flags`, `statuses`, `cr` and `flag`.
 *  @param callback gets a pointer to the copy, which it may change. The copy is released after the callback has
 *                  returned.
 *  @param data     what is copied.
 *  @param size     number of bytes, or 0: then the callback gets a null pointer. Up to 112 bytes need no allocation in
 *                  steady state. The copy is aligned for any type; a C++ object must be trivially copyable.
 *  @return as thence_attach(), and `MPI_ERR_ARG` for null `data` with a `size`.
 *  @note The copy is released once in each case. With `flag == 1` or an error none is left when this call returns.
 *        After thence_cancel() and thence_free() the callback runs, and its copy is released as always. The copy of a
 *        failed continuation that the CR keeps (`THENCE_CR_REPORT_FAILED`) is released later, see thence_get_failed().
 *        If the callback never runs, since `MPI_Finalize` came first, the copy stays until the process ends.
 *  @note Threads and cost as for thence_attach(), and one copy of `size` bytes. */
THENCE_EXPORT int thence_attach_copy(int count, MPI_Request requests[], thence_callback *callback, const void *data,
                                     size_t size, unsigned flags, MPI_Status *statuses, MPI_Request cr, int *flag);

/** @brief Test a continuation request: make progress, run what is ready, say whether anything is left.
 *  @param[in,out] cr a continuation request; stays usable.
 *  @param[out] flag  1 when no continuation is registered any more (the CR becomes inactive), else 0.
 *  @param[out] status an empty status when `flag` is 1, or `MPI_STATUS_IGNORE`.
 *  @return `MPI_ERR_ARG` (null `cr` or `flag`); `MPI_ERR_REQUEST` (no live CR); with `THENCE_CR_REPORT_FAILED` and
 *          failed continuations, the error of the first of them when `flag` is 1; `MPI_ERR_PENDING`, `flag` being 0, in
 *          a callback that tests in a loop while only its own return could let the remaining continuations run.
 *  @note Threads: one thread at a time per CR. Inside a callback it makes progress and runs nothing.
 *  @note With `THENCE_CR_NEEDS_START` a CR that is not started counts as complete, whatever is registered. */
THENCE_EXPORT int thence_test(MPI_Request *cr, int *flag, MPI_Status *status);

/** @brief Wait until no continuation is registered with `cr`.
 *  @param[in,out] cr a continuation request; stays usable.
 *  @param[out] status an empty status, or `MPI_STATUS_IGNORE`.
 *  @return `MPI_ERR_ARG` (null `cr`); `MPI_ERR_REQUEST` (no live CR); with `THENCE_CR_REPORT_FAILED` and failed
 *          continuations, the error of the first of them; `MPI_ERR_PENDING`, before it is complete, inside a callback
 *          when nothing but the return of that callback could let the remaining continuations run.
 *  @note Threads and start as for thence_test(). */
THENCE_EXPORT int thence_wait(MPI_Request *cr, MPI_Status *status);

/** @brief Complete a request whose operation has finished already, for example a short send. Unlike MPI_Test it makes
 *         no progress and runs no continuations, if the library itself can read MPI's requests (engines `openmpi` and
 *         `mpich` of thence_query()). Elsewhere, and before the library's first use, it is MPI_Test.
 *  @param[in,out] request a request that is neither attached nor persistent. `MPI_REQUEST_NULL` if `flag` is 1.
 *  @param[out] flag   1: it was complete, and is released. 0: it is pending; or it is a continuation request or, with
 *                     `openmpi`, a persistent one, which are left alone.
 *  @param[out] status its status when `flag` is 1 (`MPI_ERROR` means nothing), or `MPI_STATUS_IGNORE`.
 *  @return `MPI_ERR_ARG` (null `request` or `flag`); else as MPI_Test: with `flag == 1` the error of the operation.
 *  @note Threads: any, one per request. It makes no progress: a loop of it needs another thread that does. */
THENCE_EXPORT int thence_take_complete(MPI_Request *request, int *flag, MPI_Status *status);

/** @brief Start a continuation request that has `THENCE_CR_NEEDS_START`; without that option it does nothing.
 *  @return `MPI_ERR_ARG` (null `cr`); `MPI_ERR_REQUEST` (no live CR, or started already). */
THENCE_EXPORT int thence_start(MPI_Request *cr);

/** @brief Free a continuation request. Continuations registered with it still run; the CR is released after the last
 *  one. Those that waited for a test of it, or for its start, then run like any other, at the latest in `MPI_Finalize`
 *  if their operations are complete by then.
 *  @param[in,out] cr set to `MPI_REQUEST_NULL`.
 *  @return `MPI_ERR_ARG` (null `cr`); `MPI_ERR_REQUEST` (no live CR). */
THENCE_EXPORT int thence_free(MPI_Request *cr);

/** @brief Ask MPI to cancel every pending operation whose continuation is registered with `cr`.
 *  Each continuation still runs; `MPI_Test_cancelled` on its statuses says which operations were cancelled. Operations
 *  that MPI cannot cancel (collectives, RMA, ...) complete as usual. Persistent requests on an MPI that does not tell
 *  what they are (`detects_persistent` of thence_query()) are cancelled if libthence saw them created as sends or
 *  receives; others are left alone, and are the user's to cancel.
 *  @return `MPI_ERR_ARG` (null `cr`); `MPI_ERR_REQUEST` (no live CR). That MPI cannot cancel some
 *          of them is no error.
 *  @note While MPI is asked, the error handler of `MPI_COMM_WORLD` is `MPI_ERRORS_RETURN`, for all threads.
 *  @note Open MPI (4.1 and 5.0) itself may crash, hang or report wrongly when one thread cancels a receive that another
 *        matches at that moment (in `MPI_Isend` to itself, or by making progress). The helper thread stays out of the
 *        way; other threads of the program must be kept out by the program, as for MPI_Cancel. */
THENCE_EXPORT int thence_cancel(MPI_Request *cr);

/** @brief Take the data pointers of failed continuations of a CR with `THENCE_CR_REPORT_FAILED`.
 *  @param cr the continuation request.
 *  @param[in,out] count in: capacity of `data`; out: number stored. Equal to the capacity: call again.
 *  @param[out] data the `data` pointers given to thence_attach(), oldest first; may be null if the capacity is 0. Those
 *                  of thence_attach_each() do not tell the index: use `THENCE_INVOKE_FAILED` there. A copy that
 *                  thence_attach_copy() made is valid until the next call of thence_get_failed() for this CR, or
 *                  until the CR is freed and its last continuation has run.
 *  @return `MPI_ERR_ARG` (null `count`, negative capacity, null `data` with a capacity); `MPI_ERR_REQUEST` (no
 *          live CR). A CR without `THENCE_CR_REPORT_FAILED` has none: `count` is 0 then. */
THENCE_EXPORT int thence_get_failed(MPI_Request cr, int *count, void **data);

/** @brief Run what is ready and may run outside a test of its CR; if nothing is, make progress, and run what that made
 *  ready.
 *  @return `MPI_ERR_OTHER` before `MPI_Init` and after `MPI_Finalize`.
 *  @note Threads: any. Inside a callback it makes progress and runs nothing. */
THENCE_EXPORT int thence_progress(void);

/** @brief As thence_progress(), and tells whether there was anything to do, for loops that pause when there was not.
 *  @param[out] count continuations that have run in this call, on this thread.
 *  @return `MPI_ERR_ARG` (null `count`); `MPI_ERR_OTHER` before `MPI_Init` and after `MPI_Finalize`.
 *  @note Threads: any. */
THENCE_EXPORT int thence_progress_some(long *count);

/** @brief What the library runs on, the same for the whole process. Filled in by thence_query().
 *
 *  The three structs of the queries may get new members at their end. Their first member says how many bytes were set,
 *  so that a program and a library of different versions fit: members beyond it are unchanged. */
typedef struct thence_info {
    size_t size;            /**< bytes that the call has set: those that both the program and the library know */
    const char *version;    /**< of the library in the process, such as `0.1.0` */
    const char *mpi;        /**< the MPI: the first line of what `MPI_Get_library_version` gives */
    const char *engine;     /**< `openmpi`, `mpich` or `testsome` */
    const char *engine_why; /**< one sentence: why this engine */
    const char *hook;       /**< `opal_progress_register`, `MPIX_Async_start` (only with libthence) or `none` */
    const char *helper;     /**< helper thread: `running`, `not started`, or `not possible: ` and why; `not started: `
                                 and why if the system has refused one more thread */
    const char *abi;        /**< `native` or `standard`; `standard, but ...` where this MPI gives predefined constants
                                 other values than the header that Thence was built with, and what to do */
    const char *interposed_why; /**< null if `interposed` is 1; else why not, and what to do */
    const char *fortran;        /**< whether MPI's calls in Fortran come to libthence first: `calls come to libthence`,
                              `no library of MPI for Fortran is loaded`, or `not interposed: ` and why */
    int thread_level;           /**< of MPI, as `MPI_Query_thread` gives it */
    int interposed;             /**< 1 if MPI's own calls come to libthence first, so that they take CRs; 0: see
                                 `interposed_why` */
    int detects_persistent; /**< 1 if the MPI tells which requests are persistent; else libthence notes those that are
                                 created through it, see `THENCE_PERSISTENT` */
    int any_thread;         /**< 1 if the library's own thread can run: `THENCE_CR_ANY_THREAD` is accepted */
    int in_completion;      /**< 1 if `THENCE_CR_IN_COMPLETION` can be in force */
    int slow_ms;            /**< callbacks that take longer are reported (`THENCE_SLOW_CONTINUATION`); 0: none */
} thence_info;

/** @brief Say what the library runs on.
 *  @param[out] info filled in; its texts stay valid until `MPI_Finalize`.
 *  @param size      `sizeof(thence_info)`; no byte beyond is written.
 *  @return `MPI_ERR_ARG` (null `info`, or `size` is smaller than in the first version); `MPI_ERR_OTHER` before
 *          `MPI_Init` and after `MPI_Finalize`.
 *  @note Threads: any. If it is the first call of the library, it selects the engine. */
THENCE_EXPORT int thence_query(thence_info *info, size_t size);

/** @brief What is in force for a continuation request. Filled in by thence_cr_query(). */
typedef struct thence_cr_info {
    size_t size;     /**< bytes that the call has set, see thence_info */
    long registered; /**< continuations registered now */
    unsigned flags;  /**< `THENCE_CR_` options in force */
    int max_poll;    /**< most continuations per test, -1 for no limit */
    int active;      /**< 1 while started (always 1 without `THENCE_CR_NEEDS_START` when any is registered) */
    int failed;      /**< failed continuations that thence_get_failed() would give */
} thence_cr_info;

/** @brief Say what is in force for a continuation request.
 *  @param cr        the continuation request.
 *  @param[out] info filled in.
 *  @param size      `sizeof(thence_cr_info)`; no byte beyond is written.
 *  @return `MPI_ERR_ARG` (null `info`, or `size` is smaller than in the first version); `MPI_ERR_REQUEST` (no live CR).
 *  @note Threads: any. */
THENCE_EXPORT int thence_cr_query(MPI_Request cr, thence_cr_info *info, size_t size);

/** @brief Counters since the first use of the library, summed over all threads. Filled in by thence_stats_query(). */
typedef struct thence_stats_info {
    size_t size;                  /**< bytes that the call has set, see thence_info */
    unsigned long long attached;  /**< continuations attached, immediate completions not counted; at least `completed`
                                       plus `outstanding`, and never less than at an earlier call */
    unsigned long long immediate; /**< continuations that did not run since all was complete at once (`flag == 1`) */
    unsigned long long completed; /**< continuations whose callback has returned; those that a thread runs in a row are
                                       counted together, after the last */
    unsigned long long failed;    /**< continuations with a failed operation or a callback that returned an error */
    unsigned long long polls;     /**< engine polls */
    unsigned long long recovered; /**< completions that the native engine recovered by its scan */
    unsigned long long helper_wakeups; /**< times the helper thread woke up */
    unsigned long long outstanding;    /**< continuations registered now */
} thence_stats_info;

/** @brief Read the counters, at any time: all are 0 before the first use of the library.
 *  @param[out] info filled in.
 *  @param size      `sizeof(thence_stats_info)`; no byte beyond is written.
 *  @return `MPI_ERR_ARG` (null `info`, or `size` is smaller than in the first version).
 *  @note Threads: any; counts of other threads may lag. */
THENCE_EXPORT int thence_stats_query(thence_stats_info *info, size_t size);

/** @brief One environment variable of Thence. Filled in by thence_setting_query(). */
typedef struct thence_setting_info {
    size_t size;        /**< bytes that the call has set, see thence_info */
    const char *name;   /**< `THENCE_...`; null if there is no variable with this index */
    const char *values; /**< what it may be set to; null, as all that follows but `complaint`, if it is no setting of
                             Thence although its name begins so */
    const char *default_value; /**< what holds while it is not set */
    const char *meaning;       /**< one line: what it does */
    const char *text;          /**< what it is set to; null if it is not set */
    const char *in_force;      /**< the value that the library uses */
    const char *complaint;     /**< why `text` has no effect; null if it has */
} thence_setting_info;

/** @brief Go through the settings: the environment variables that Thence reads, and those that look like one and are
 *         none. The library reads them when it is first used. Before that, this call does.
 *  @param index     0 for the first, and so on.
 *  @param[out] info filled in; beyond the last variable `name` is null. The texts stay valid until the process ends.
 *  @param size      `sizeof(thence_setting_info)`; no byte beyond is written.
 *  @return `MPI_ERR_ARG` (negative index, null `info`, or `size` is smaller than in the first version).
 *  @note Threads: any; also before `MPI_Init` and after `MPI_Finalize`. */
THENCE_EXPORT int thence_setting_query(int index, thence_setting_info *info, size_t size);

/** @brief What the MPI at run time takes for `MPI_ERRORS_RETURN`. That is `MPI_ERRORS_RETURN`, but in a build for the
 *  standard ABI where header and MPI come from before and after its correction of October 2025 (`abi` of
 *  thence_query() tells): there the constant in the header means `MPI_ERRORS_ABORT`.
 *  @return a predefined error handler.
 *  @note Between MPI_Init and MPI_Finalize. Threads: any. */
THENCE_EXPORT MPI_Errhandler thence_errors_return(void);

/* For libraries that stand on this one: `function` is called once in MPI_Finalize before this library ends, the last
 * one added first. With libthence that is after the delete callbacks of all attributes of MPI_COMM_SELF that the
 * program has set. One that was added already stays. A continuation request exists. MPI_ERR_NO_MEM: there is no room.
 * Threads: any. */
THENCE_EXPORT int thence_at_finalize_(void (*function)(void));

/** @brief 1 if `request` is a live continuation request of this library, else 0. Threads: any. */
THENCE_EXPORT int thence_is_cr(MPI_Request request);

#ifdef __cplusplus
}
#endif
