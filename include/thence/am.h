/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/** @file am.h
 *  @brief Active messages: a message names the function that the receiving process calls with it. Link `thence::am`.
 *
 *  An *engine* belongs to a communicator. Each process registers *handlers*, functions with numbers, and sends messages
 *  to the handlers of others. Long data are put into memory that another process has registered, or fetched from there
 *  by a get. The receiver posts no receives for all this, and knows neither who will send nor when.
 *
 *  **Where handlers run.** One with no flags may take long: it runs only in calls of this header that say so,
 *  thence_am_progress() above all, and one at a time. One with ::THENCE_AM_SHORT runs as soon as any thread is inside
 *  MPI, so that several may run at once; with the option ::THENCE_AM_HELPER also on the helper thread of Thence, while
 *  all threads compute. A handler is called by a continuation: the rules of thence_callback hold. It may send, put,
 *  get, register and submit tasks. It must not wait.
 *
 *  **Order.** Messages may be handled in any order. Several short messages to one process may share one message of MPI;
 *  those of a handler leave when it returns, or with those of the handlers that run after it, some microseconds later
 *  unless one of these takes long.
 *
 *  **Bounded memory.** A process accepts at most `window` messages of MPI from each other process, for each of the
 *  three kinds (handlers, short handlers, put and get), until all that they carry is handled: also messages that wait
 *  for a handler to be registered, puts until their data have arrived and gets until theirs have left. So messages that
 *  a slow receiver has not handled use at most 3 x `window` x (`max_payload` + 96) bytes for each sender, and some
 *  hundred bytes for each put and get that is announced in them. What a sender may not send yet waits with the sender:
 *  messages up to `max_queued` bytes for each receiver. Then thence_am_send() waits, and runs handlers meanwhile;
 *  thence_am_try_send() sends nothing. What handlers send, thence_am_send_then(), puts and gets wait without limit: who
 *  begins very many counts them in `done`. Messages that wait for a handler that is registered late delay others of
 *  their kind behind them.
 *
 *  **Threads.** With `MPI_THREAD_MULTIPLE` any thread may call any function. Else, and with ::THENCE_AM_ONE_THREAD, the
 *  thread that has created the engine is its *communication thread*: it alone calls MPI, in thence_am_progress(), and
 *  all others may send, put and get. That works at `MPI_THREAD_FUNNELED`, too.
 *
 *  **Errors.** A bad argument is an error before anything is sent. What goes wrong later is told to the function
 *  `failed` of the options, on the process where it is found: a handler that returns an error, a message for a handler
 *  that is not registered, a message that MPI could not send. The engine goes on. thence_am_quiesce() returns the first
 *  such error. A process that can receive no more, or that cannot take part in the search for the end of all
 *  messages, tells all others: the engine is *broken*. Then all that waits, and each send, put and get, returns the
 *  error that `failed` was told, and calls no error handler. The `done` of messages, puts and gets that are under way
 *  is called with it: where MPI has not begun to use memory of the program as soon as there is progress, else when MPI
 *  has ended that. The first call of thence_am_progress(), thence_am_quiesce() or thence_am_free() that may wait
 *  cancels the receives of puts and gets, and waits up to 2 s for what MPI has begun. Then `done` is called for the
 *  puts that are left, whose data MPI may still read; of gets that are left it is not, since MPI may still write:
 *  `failed` is told that memory must stay. Only then does one of these calls return the error, and no other memory of
 *  the program is used for puts and gets from then on. While receives are cancelled, no other thread makes progress in
 *  MPI, but by thence_am_progress() of this engine: see thence_cancel(). Functions return codes as thence.h says; on a
 *  thread that may not call MPI an error is returned as its class, and no error handler is called.
 *
 *  Source: Schuchart et al. 2021, "Callback-based completion notification using MPI Continuations", section 5.3. */

#include <stdint.h>

#include <thence/thence.h>

/* Marks what libthence-am exports. */
#if defined(__GNUC__)
#define THENCE_AM_EXPORT __attribute__((visibility("default")))
#else
#define THENCE_AM_EXPORT
#endif

#ifdef __cplusplus
extern "C" {
#endif

/** An engine for active messages. */
typedef struct thence_am_object *thence_am;

/** Handlers have numbers from 0 up to this, without it. */
#define THENCE_AM_MOST_HANDLERS 1024
/** In place of the number of a handler: none. */
#define THENCE_AM_NO_HANDLER (-1)

/** @brief What a handler is called with. */
typedef struct thence_am_message {
    thence_am am;        /**< the engine */
    int source;          /**< the sender, a rank of the communicator */
    int number;          /**< of the handler */
    const void *payload; /**< what was sent with it, aligned to 8 bytes; valid until the handler returns */
    size_t bytes;        /**< its length */
    void *data;          /**< after a put: where the data are. Else null */
    size_t data_bytes;   /**< after a put: their length */
} thence_am_message;

/** @brief A handler.
 *  @param message valid until it returns.
 *  @param data    the pointer given to thence_am_register().
 *  @return `MPI_SUCCESS`; any other value is an error code, told to `failed` of the options. It must not throw. */
typedef int(thence_am_handler)(const thence_am_message *message, void *data);

/** @brief Called when an operation is complete.
 *  @param error `MPI_SUCCESS`, or an error code.
 *  @param data  the pointer given with it. */
typedef void(thence_am_done)(int error, void *data);

/** @brief What has gone wrong. */
typedef struct thence_am_failure {
    thence_am am;     /**< the engine */
    int error;        /**< the error code */
    int rank;         /**< the other process */
    int number;       /**< of the handler; ::THENCE_AM_NO_HANDLER: none is concerned */
    const char *what; /**< one sentence, valid until the function returns */
    int first;        /**< 1: thence_am_quiesce() returns this code, since this is the first failure in this process
                       *   since the last such call, or since the engine is broken now. 0: it does not */
} thence_am_failure;

/** @brief Told what has gone wrong. It runs where the error is found, on any thread that may run a handler. It must not
 *  throw, and must not wait. */
typedef void(thence_am_failed)(const thence_am_failure *failure, void *data);

#define THENCE_AM_ONE_THREAD (1U << 0) /**< option of an engine: only the thread that creates it calls MPI */
#define THENCE_AM_HELPER (1U << 1) /**< option of an engine: the helper thread receives while the program computes */

/** @brief Options of an engine. Zero-initialize it: 0 stands for the default. What is out of its range is refused.
 *  `window` and `max_payload` must be the same in all processes. */
typedef struct thence_am_options {
    unsigned flags; /**< `THENCE_AM_` options of an engine */
    int window; /**< messages of MPI from one process, per kind, not handled: 16; 2 to 32,767, and to MPI_TAG_UB / 2 */
    int receives;             /**< receives posted for each kind: 8; 1 to 4,096 */
    int max_outgoing;         /**< messages with long data under way from here; others wait in order: 8; 1 or more */
    size_t max_payload;       /**< the longest payload of a message: 3,840 bytes; 1 to 1,048,576 */
    size_t max_queued;        /**< bytes that may wait for one receiver: 262,144; 1 or more */
    thence_am_failed *failed; /**< told what has gone wrong; null: a line on standard error */
    void *failed_data;        /**< passed to it */
} thence_am_options;

/** @brief Make an engine. Collective over `comm`, and blocks.
 *  @param comm    an intracommunicator. The engine uses duplicates.
 *  @param options null for the defaults. The struct is copied.
 *  @param size    `sizeof(thence_am_options)`, or 0 with null options.
 *  @param[out] am the engine.
 *  @return `MPI_ERR_COMM` (null, or an intercommunicator); `MPI_ERR_ARG` (null `am`, an option out of range, or one
 *  that differs between processes); `MPI_ERR_UNSUPPORTED_OPERATION` (::THENCE_AM_HELPER where the helper thread cannot
 *  run, or together with ::THENCE_AM_ONE_THREAD); `MPI_ERR_NO_MEM`; `MPI_ERR_OTHER` before `MPI_Init` and after
 *  `MPI_Finalize`. All processes return an error, or none, if `am` is not null in any.
 *  @note Threads: any; below `MPI_THREAD_MULTIPLE` the one that may call MPI. */
THENCE_AM_EXPORT int thence_am_create(MPI_Comm comm, const thence_am_options *options, size_t size, thence_am *am);

/** @brief Free an engine. Collective. It waits until all messages are handled everywhere, as thence_am_quiesce(), and
 *         runs handlers meanwhile. So a process may call it early. If a thence_am_quiesce_then() is under way, its
 *         `done` is called before.
 *  @param[in,out] am null on return, unless the call is refused.
 *
 *  If the engine is broken, it may wait up to 2 s for what MPI has begun: see Errors above. It also waits until no
 *  other thread runs a handler, a `done` or `failed` of this engine: none is called any more when it returns.
 *  @return as thence_am_quiesce(). It is refused, and the engine stays, with `MPI_ERR_ARG` for null `am`, with
 *  `MPI_ERR_PENDING` in a handler or a callback, and with `MPI_ERR_OTHER` on a thread that is not the communication
 *  thread. After any other error the engine is gone.
 *  @note Threads: as thence_am_quiesce(); no other thread uses the engine meanwhile. An engine that is left at
 *        `MPI_Finalize` ends there: with libthence after the delete callbacks of all attributes of `MPI_COMM_SELF` that
 *        the program has set, else after those that were set later than the first engine. From then on this call only
 *        sets `am` to null, and all others return `MPI_ERR_OTHER`. */
THENCE_AM_EXPORT int thence_am_free(thence_am *am);

/** @brief The handler is short: it runs at once, wherever a thread is inside MPI. Option of thence_am_register(). */
#define THENCE_AM_SHORT (1U << 0)

/** @brief Register a handler. Each process that sends to it, or receives for it, registers it under the same number
 *         with the same flags. A message that comes before that waits for it, at most until thence_am_quiesce() has
 *         found that nothing else is left: handlers of other messages may register it meanwhile. Then it is lost, and
 *         `failed` of the options is told. While this process waits there, such messages have at most `max_queued`
 *         bytes together; what is more is lost, too.
 *  @param am      the engine.
 *  @param number  0 to ::THENCE_AM_MOST_HANDLERS - 1.
 *  @param handler the function; on a process that only sends, any function.
 *  @param data    passed to it.
 *  @param flags   ::THENCE_AM_SHORT, or 0.
 *  @return `MPI_ERR_ARG` (null `am` or `handler`, unknown flags, a number out of range, or one that is registered
 *          already).
 *  @note Threads: any; also inside a handler. */
THENCE_AM_EXPORT int thence_am_register(thence_am am, int number, thence_am_handler *handler, void *data,
                                        unsigned flags);

/** @brief Send a message. The payload is copied, so it may be written again on return.
 *  @param am      the engine.
 *  @param rank    the receiver; may be the sender.
 *  @param number  a handler that is registered here.
 *  @param payload may be null if `bytes` is 0.
 *  @param bytes   its length, at most `max_payload` of the options.
 *  @return `MPI_ERR_ARG` (null `am` or `payload`; no handler has this number); `MPI_ERR_RANK`; `MPI_ERR_COUNT` (the
 *          payload is too long); `MPI_ERR_NO_MEM`; `MPI_ERR_PENDING` (it would have to wait, but was called in a
 *          callback, which must not wait); the error of an engine that is broken. Nothing is sent then.
 *  @note Threads: any. It may wait, see above; in a handler it does not. On a thread that may call MPI it runs
 *        handlers while it waits. */
THENCE_AM_EXPORT int thence_am_send(thence_am am, int rank, int number, const void *payload, size_t bytes);

/** @brief As thence_am_send(), but it never waits.
 *  @param[out] sent 1, or 0 if too much waits for this receiver already: then nothing was sent.
 *  @return as thence_am_send(), and `MPI_ERR_ARG` for null `sent`.
 *  @note Threads: any. */
THENCE_AM_EXPORT int thence_am_try_send(thence_am am, int rank, int number, const void *payload, size_t bytes,
                                        int *sent);

/** @brief As thence_am_send(), but it never waits, and tells when the message has left: for flow control by the sender.
 *  @param done      called once, when the copy of the payload is released, under the rules of a handler; also inside
 *                   this and other calls that send, on this thread, so the caller holds no lock that it takes; and
 *                   where a handler with ::THENCE_AM_SHORT may run. Not called if an error is returned.
 *                   thence_am_quiesce() waits for it, and for what it sends.
 *  @param done_data passed to it.
 *  @return as thence_am_send(), and `MPI_ERR_ARG` for null `done`.
 *  @note Threads: any. */
THENCE_AM_EXPORT int thence_am_send_then(thence_am am, int rank, int number, const void *payload, size_t bytes,
                                         thence_am_done *done, void *done_data);

/** @brief Memory that other processes may put to and get from. Plain bytes: send it in a payload. */
typedef struct thence_am_memory {
    uint64_t bytes; /**< its length */
    uint64_t key;   /**< what the owner knows it by */
    int32_t rank;   /**< the owner */
    int32_t unused; /**< 0 */
} thence_am_memory;

/** @brief Register memory of this process for puts and gets of others.
 *  @param am          the engine.
 *  @param address     where it begins; may be null if `bytes` is 0.
 *  @param bytes       its length.
 *  @param[out] memory what others name it by.
 *  @return `MPI_ERR_ARG` (null `am`, `memory`, or `address` of some bytes); `MPI_ERR_NO_MEM`.
 *  @note Threads: any; also inside a handler. Makes no call of MPI. */
THENCE_AM_EXPORT int thence_am_memory_register(thence_am am, void *address, size_t bytes, thence_am_memory *memory);

/** @brief Forget memory that was registered here. No operation on it is under way.
 *  @return `MPI_ERR_ARG` (null `am` or `memory`; it is not registered in this process, or was forgotten already).
 *  @note Threads: any. */
THENCE_AM_EXPORT int thence_am_memory_forget(thence_am am, const thence_am_memory *memory);

/** @brief Put data into memory of another process, and call a handler there when they have arrived.
 *  @param am        the engine.
 *  @param from      the source; stays unchanged until `done`. May be null if `bytes` is 0.
 *  @param bytes     how many; at most 2 GiB - 1.
 *  @param to        memory of the target.
 *  @param offset    where in it.
 *  @param number    a handler that is registered here and there, or ::THENCE_AM_NO_HANDLER.
 *  @param payload   passed to the handler; copied. May be null if `payload_bytes` is 0.
 *  @param payload_bytes its length, at most `max_payload`.
 *  @param done      called once, when the source may be written again, as that of thence_am_send_then(); or null. Not
 *                   called if an error is returned.
 *  @param done_data passed to it.
 *  @return `MPI_ERR_ARG` (null `am`, `from`, `to` or `payload`; beyond the end of the memory; no handler has this
 *          number); `MPI_ERR_RANK` (`to` names no process of the communicator); `MPI_ERR_COUNT` (too long);
 *          `MPI_ERR_NO_MEM`; the error of an engine that is broken. Nothing is sent then.
 *  @note Threads: any. It never waits: what exceeds `max_outgoing` is sent later, first come first served. */
THENCE_AM_EXPORT int thence_am_put(thence_am am, const void *from, size_t bytes, const thence_am_memory *to,
                                   size_t offset, int number, const void *payload, size_t payload_bytes,
                                   thence_am_done *done, void *done_data);

/** @brief Get data from memory of another process.
 *  @param am        the engine.
 *  @param to        where they are written.
 *  @param bytes     how many; at most 2 GiB - 1.
 *  @param from      memory of the other process.
 *  @param offset    where in it.
 *  @param done      called once, when the data are here, where a handler without flags may run, under its rules. If the
 *                   owner has forgotten the memory, its error is of class `MPI_ERR_ARG`. Not called if an error is
 *                   returned.
 *  @param done_data passed to it.
 *  @return as thence_am_put(), and `MPI_ERR_ARG` for null `done`.
 *  @note Threads: any. It never waits. */
THENCE_AM_EXPORT int thence_am_get(thence_am am, void *to, size_t bytes, const thence_am_memory *from, size_t offset,
                                   thence_am_done *done, void *done_data);

/** @brief Make progress: send what waits, run handlers that have no flags, and what else is ready.
 *  @param am         the engine.
 *  @param[out] count messages that were handled and operations that were completed on this thread; may be null.
 *  @return `MPI_ERR_ARG` (null `am`); `MPI_ERR_OTHER` (not on the communication thread of this engine); the error of an
 *          engine that is broken, once no `done` is to come (see Errors above): then it makes progress, too. Until
 *          then it returns `MPI_SUCCESS` in a handler, in a callback, and while another thread waits for that.
 *  @note Threads: any that may call MPI; handlers without flags run on one of them at a time. In a callback it runs
 *  none. */
THENCE_AM_EXPORT int thence_am_progress(thence_am am, long *count);

/** @brief Say that this process has work which may still send, such as a task that a handler has submitted:
 *         thence_am_quiesce() does not return before thence_am_release() was called as often.
 *  @return `MPI_ERR_ARG` (null `am`).
 *  @note Threads: any. Call it in the handler that begins the work, or before this process calls thence_am_quiesce().
 *  */
THENCE_AM_EXPORT int thence_am_hold(thence_am am);

/** @brief Undo one thence_am_hold(), after the last send of that work.
 *  @return `MPI_ERR_ARG` (null `am`; nothing is held).
 *  @note Threads: any. */
THENCE_AM_EXPORT int thence_am_release(thence_am am);

/** @brief Wait until no message is left: all are handled in all processes, those that handlers have sent too, all puts
 *         and gets are complete, and nothing is held. Collective; runs handlers meanwhile.
 *  @param am the engine.
 *  @return the code of the first error in this process since the last such call (see Errors above); `MPI_ERR_ARG` (null
 *          `am`); `MPI_ERR_PENDING` (called in a callback, or another thread waits here already); `MPI_ERR_OTHER` (not
 *          on the communication thread).
 *  @note Threads: any that may call MPI. Between the call and its return only handlers, and work that is held, send
 *        from this process. What another process sends after its call has returned may be handled before this one
 *        returns. */
THENCE_AM_EXPORT int thence_am_quiesce(thence_am am);

/** @brief As thence_am_quiesce(), but it returns at once. thence_am_progress() drives it.
 *  @param done      called once, in thence_am_progress() or another call that runs handlers, with the code that
 *                   thence_am_quiesce() would return. It is no handler: it may wait.
 *  @param done_data passed to it.
 *  @return `MPI_ERR_ARG` (null `am` or `done`); `MPI_ERR_PENDING` (one is under way). Nothing has begun then.
 *  @note Threads: any. */
THENCE_AM_EXPORT int thence_am_quiesce_then(thence_am am, thence_am_done *done, void *done_data);

/** @brief What an engine does. Filled in by thence_am_query(). The counters are those of this process. */
typedef struct thence_am_info {
    size_t size;             /**< bytes that the call has set, see thence_info */
    int rank;                /**< of this process */
    int ranks;               /**< how many processes there are */
    int window;              /**< as in force, and so are the next three */
    int max_outgoing;        /**< see thence_am_options */
    size_t max_payload;      /**< see thence_am_options */
    size_t max_queued;       /**< see thence_am_options */
    unsigned long long sent; /**< messages, puts and gets that were begun, holds, and `done` of messages */
    unsigned long long
        handled; /**< messages that were handled here, puts that have arrived, gets that are complete, `done`, and
                                      releases: over all processes as many as `sent` when all is quiet */
    unsigned long long packets;  /**< messages of MPI that carried them */
    unsigned long long queued;   /**< bytes that wait for receivers now */
    unsigned long long outgoing; /**< messages with long data that are under way or wait now */
} thence_am_info;

/** @brief Say what an engine does.
 *  @param am        the engine.
 *  @param[out] info filled in.
 *  @param size      `sizeof(thence_am_info)`; no byte beyond is written.
 *  @return `MPI_ERR_ARG` (null `am` or `info`, or `size` is smaller than in the first version).
 *  @note Threads: any; counts of other threads may lag. */
THENCE_AM_EXPORT int thence_am_query(thence_am am, thence_am_info *info, size_t size);

#ifdef __cplusplus
}
#endif
