// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/** @file dataflow.hpp
 *  @brief Tasks with data dependences on oneTBB: a task says what it reads and writes, and runs after the tasks that it
 *         depends on. C++20; link `thence::tasks`. No MPI inside.
 *
 *      thence::flow flow;
 *      flow.submit({thence::out(&x)}, [&] { x = 1; });
 *      flow.submit({thence::in(&x), thence::out(&y)}, [&] { y = x + 1; });
 *      flow.taskwait();
 *
 *  **Dependences.** Among siblings, the tasks that one task (or the program outside of tasks) submits to a flow, in the
 *  order of their submission. Data are named by their start address; see access.hpp for the kinds of accesses. A task
 *  that names the same data twice with different kinds has `inout` on them.
 *
 *  **Nesting.** What a task submits to its flow are its children. They depend on each other, not on tasks elsewhere.
 *
 *  **Completion.** A task is complete when its body has ended, all its events have been lowered, and its children are
 *  complete. Then its body object is destroyed, its dependences are released, and it counts as complete in taskwait().
 *  A thread that lowers the last event does this, so what is captured lives as long as communication into it.
 *
 *  **Events.** A running task raises its counter for something that goes on outside: raise_events(). Any thread lowers
 *  it later. What that thread wrote before is visible to the tasks that depend on this one.
 *
 *  **onready.** A function that is called once when the dependences are met, before the body, on a thread of the flow
 *  but outside of any task: it must not block, submit or wait. It may raise events of its task; the body runs when they
 *  have been lowered, with a counter of zero.
 *
 *  **Waiting.** taskwait(), block_current() and wait_for() suspend a task, not its worker, which runs other tasks. A
 *  task may go on on another thread, so do not hold a mutex then. A thread outside of tasks that waits works for the
 *  flow meanwhile.
 *
 *  **Failures.** An exception that leaves a body or an onready function, or an event lowered with an error, ends the
 *  wave, as in oneTBB: siblings whose body has not begun are not run (nor is their onready), those that run go on, and
 *  so do all events. The taskwait() of the parent rethrows the first exception when all are complete; afterwards
 *  tasks run again. If a parent does not wait, its own wave fails.
 *
 *  Source: Sala, Macià, Beltran 2021, "Combining One-Sided Communications with Task-Based Programming Models", sections
 *  II-C (events) and V (onready, wait_for); the rules of dependences are those of OpenMP 5 and OmpSs-2 (discrete). */

#include <cstddef>
#include <cstdint>
#include <exception>
#include <initializer_list>
#include <new>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <thence/dataflow/access.hpp>
#include <thence/dataflow/detail/exports.hpp>

namespace thence {

/** @brief What taskwait() throws when an event was lowered with an error. */
class event_error : public std::runtime_error {
public:
    /** @brief @param code that of lower_events(). @param label that of the task, or null. */
    event_error(int code, const char *label)
        : std::runtime_error("thence: an event of task " + std::string(label != nullptr ? label : "(no label)") +
                             " was lowered with error " + std::to_string(code)),
          code_(code) {}
    /** @brief The error that was given to lower_events(). */
    int code() const noexcept { return code_; }

private:
    int code_;
};

/** @brief What a flow is made with. */
struct flow_options {
    int workers = 0; /**< threads that run tasks, besides those that wait; 0: one less than processors, at least 1 */
    /** Bounds memory, and keeps what tasks need in the caches: submit() waits while more than this many children of one
     *  task are not complete, unless none runs or is ready. The submitting thread runs tasks meanwhile, until half of
     *  them are complete. So do not hold a mutex in submit(), and let no task wait for its submitter other than by
     *  events, blocking or sleeping. 0: 2048, or 256 for each worker if that is more; `no_limit`: submit() never waits.
     *  */
    unsigned most_open = 0;
    /** See most_open. */
    static constexpr unsigned no_limit = ~0U;
};

/** @brief A function that is called when the dependences of a task are met. Make it with onready(). */
template <class F> struct onready_function { F function; /**< called without arguments */ };
/** @brief Names `f` as the onready function of a task, for flow::submit(). */
template <class F> onready_function<std::decay_t<F>> onready(F &&f) {
    return {std::forward<F>(f)};
}

/** @brief A task that has been made, for events and blocking. Valid until the task is complete. */
class task_ref {
public:
    task_ref() = default;
    explicit task_ref(detail::dataflow_task *task) noexcept : task_(task) {}
    /** @brief Whether it refers to a task. */
    explicit operator bool() const noexcept { return task_ != nullptr; }
    /** @brief The same task as `void *`, as the C names have it. */
    void *native() const noexcept { return task_; }
    friend bool operator==(task_ref, task_ref) = default;

private:
    friend class flow;
    friend void raise_events(task_ref, std::uint64_t);
    friend void lower_events(task_ref, std::uint64_t, int);
    friend void unblock(task_ref);
    detail::dataflow_task *task_ = nullptr;
};

namespace detail {

template <class Body> struct plain_body {
    Body body;
    static constexpr void (*onready)(void *) = nullptr;
    void run() { static_cast<void>(body()); }
};
template <class Body, class Ready> struct body_with_onready {
    Body body;
    Ready ready;
    static void onready(void *object) { static_cast<void>(static_cast<body_with_onready *>(object)->ready()); }
    void run() { static_cast<void>(body()); }
};

template <class Whole> void destroy_body(void *object) noexcept {
    static_cast<Whole *>(object)->~Whole();
}
template <class Whole>
inline constexpr task_body body_of{sizeof(Whole), [](void *object) { static_cast<Whole *>(object)->run(); },
                                   Whole::onready,
                                   std::is_trivially_destructible_v<Whole> ? nullptr : &destroy_body<Whole>};

} // namespace detail

/** @brief A task graph and the threads that run it. */
class flow {
public:
    /** @brief Makes one with threads of its own. Threads of oneTBB are made when they are first needed.
     *  @throws std::invalid_argument if `options.workers` is not 0 to 4096. */
    explicit flow(const flow_options &options = {})
        : state_(libthence_tasks::make_flow(options.workers, options.most_open)) {}
    /** @brief Waits until all tasks are complete, as taskwait() outside of tasks, spawned ones too; drops exceptions.
     * */
    ~flow() {
        if (owned_) {
            libthence_tasks::destroy_flow(state_);
        }
    }
    flow &operator=(flow &&) = delete;

    /** @brief The flow of the process, with default options, made at the first call; never destroyed. The C names use
     *         it outside of tasks. */
    static flow &process_default() {
        static flow only{&libthence_tasks::default_flow()};
        return only;
    }

    /** @brief Submits a task.
     *  @param accesses what the task does with data: `{in(p), out(q)}`, or a span. Copied.
     *  @param options  priority and label.
     *  @param ready    onready(f), if it has such a function.
     *  @param body     called once without arguments, on a thread of the flow; what it returns is ignored. It is moved
     *                  or copied into the task. Aligned to at most 16 bytes.
     *  @throws std::bad_alloc, std::length_error for more than 2^31 accesses, std::logic_error inside onready, and what
     *          the move of `body` throws; then there is no task.
     *  @note Threads: any number at once. Outside of tasks all threads submit to one sequence of siblings, each task as
     *        a whole. Inside a task of another flow, it is as outside of tasks. Cost: `thence bench dataflow_task`. */
    template <class Body>
    [[gnu::always_inline]] void submit(std::span<const access> accesses, const task_options &options, Body &&body) {
        submit_whole<detail::plain_body<std::decay_t<Body>>>(accesses, options, std::forward<Body>(body));
    }
    /** @brief As above, with an onready function. */
    template <class Ready, class Body>
    [[gnu::always_inline]] void submit(std::span<const access> accesses, const task_options &options,
                                       onready_function<Ready> ready, Body &&body) {
        submit_whole<detail::body_with_onready<std::decay_t<Body>, Ready>>(accesses, options, std::forward<Body>(body),
                                                                           std::move(ready.function));
    }
    /** @brief As above, with default options. */
    template <class Body>
    requires std::is_invocable_v < std::decay_t<Body>
    & > [[gnu::always_inline]] void submit(std::span<const access> accesses, Body &&body) {
        submit(accesses, task_options{}, std::forward<Body>(body));
    }
    /** @brief As above, with default options and an onready function. */
    template <class Ready, class Body>
    [[gnu::always_inline]] void submit(std::span<const access> accesses, onready_function<Ready> ready, Body &&body) {
        submit(accesses, task_options{}, std::move(ready), std::forward<Body>(body));
    }
    /** @brief As above, with the accesses in braces. */
    template <class... Rest>
    [[gnu::always_inline]] void submit(std::initializer_list<access> accesses, Rest &&...rest) {
        submit(std::span<const access>(accesses.begin(), accesses.size()), std::forward<Rest>(rest)...);
    }
    /** @brief As above, with the accesses in braces and options in braces. */
    template <class Body>
    [[gnu::always_inline]] void submit(std::initializer_list<access> accesses, const task_options &options,
                                       Body &&body) {
        submit(std::span<const access>(accesses.begin(), accesses.size()), options, std::forward<Body>(body));
    }
    /** @brief As above, with an onready function too. */
    template <class Ready, class Body>
    [[gnu::always_inline]] void submit(std::initializer_list<access> accesses, const task_options &options,
                                       onready_function<Ready> ready, Body &&body) {
        submit(std::span<const access>(accesses.begin(), accesses.size()), options, std::move(ready),
               std::forward<Body>(body));
    }

    /** @brief Waits until all children of the calling task are complete; outside of tasks, all that were submitted
     *         there by any thread.
     *  @throws the first exception of a child. If several threads wait, one of them gets it.
     *  @throws std::logic_error inside onready. */
    void taskwait() { libthence_tasks::wait_for_children(*state_); }

    /** @brief Waits until the earlier siblings-to-be are complete that a task with these accesses would depend on.
     *  @throws the first exception of a child, which stays for taskwait(): the data may not have been written. */
    void taskwait(std::span<const access> on) { libthence_tasks::wait_for_accesses(*state_, on.data(), on.size()); }
    /** @brief As above, with the accesses in braces. */
    void taskwait(std::initializer_list<access> on) { taskwait(std::span<const access>(on.begin(), on.size())); }

    /** @brief How many workers it has, besides threads that wait. */
    int workers() const noexcept { return libthence_tasks::workers_of(*state_); }

private:
    explicit flow(detail::flow_state *whole) : state_(whole), owned_(false) {}

    template <class Whole, class... Parts>
    [[gnu::always_inline]] void submit_whole(std::span<const access> accesses, const task_options &options,
                                             Parts &&...parts) {
        static_assert(alignof(Whole) <= detail::body_alignment, "the body of a task is aligned to at most 16 bytes");
        const detail::prepared_task made =
            libthence_tasks::prepare_task(*state_, detail::body_of<Whole>, accesses.size());
        if constexpr ((std::is_nothrow_constructible_v<std::decay_t<Parts>, Parts> && ...)) {
            new (made.body) Whole{std::forward<Parts>(parts)...};
        } else {
            try {
                new (made.body) Whole{std::forward<Parts>(parts)...};
            } catch (...) {
                libthence_tasks::drop_task(made.task);
                throw;
            }
        }
        libthence_tasks::submit_task(*state_, made.task, accesses.data(), accesses.size(), options);
    }

    detail::flow_state *state_;
    bool owned_ = true;
};

/** @brief The task whose body, or whose onready function, calls this; none outside of tasks. If the body runs loops of
 *         oneTBB, ask before: inside and after them the answer may be wrong. */
inline task_ref current_task() noexcept {
    return task_ref(libthence_tasks::running_task());
}

/** @brief Adds `count` to the events of a task. Only in that task, or in its onready function.
 *  @throws std::invalid_argument elsewhere, and for more than 2^61 events; nothing has changed then. */
inline void raise_events(task_ref task, std::uint64_t count = 1) {
    if (!libthence_tasks::raise(task.task_, count)) {
        throw std::invalid_argument("thence::raise_events: not called in that task or its onready, or too many events");
    }
}

/** @brief Takes `count` from the events of a task. If these were the last, its body has ended, and its children are
 *         complete, this thread completes the task, or, if onready raised them, makes its body ready.
 *  @param error 0, or what went wrong: then its siblings that have not begun are skipped, and taskwait throws an
 *               event_error.
 *  @throws std::invalid_argument if the task has fewer events, and where it is seen to be complete; nothing has
 *          changed then.
 *  @note Threads: any. May be called in a callback of MPI. Release and acquire: what was written before is visible to
 *        tasks that depend on this one. */
inline void lower_events(task_ref task, std::uint64_t count = 1, int error = 0) {
    if (!libthence_tasks::lower(task.task_, count, error)) {
        throw std::invalid_argument("thence::lower_events: the task has fewer events");
    }
}

/** @brief Blocks the calling task until unblock(), which may come first; its worker runs other tasks.
 *  @throws std::logic_error outside of a task and in onready. */
inline void block_current() {
    if (!libthence_tasks::block()) {
        throw std::logic_error("thence::block_current: not called in a task");
    }
}

/** @brief Lets a task go on that is blocked, or will block next. Each block has one unblock, at most one ahead.
 *  @throws std::logic_error if one is ahead already, and where the task is seen to be complete; nothing has changed
 *  then.
 *  @note Threads: any. Returns before the task goes on. */
inline void unblock(task_ref task) {
    if (!libthence_tasks::unblock(task.task_)) {
        throw std::logic_error("thence::unblock: the task was unblocked already, or is complete");
    }
}

/** @brief The calling task sleeps for this time at least, and its worker runs other tasks. With 0, tasks that are ready
 *         go first. Outside of a task the thread sleeps.
 *  @return the microseconds that have passed. @throws std::bad_alloc, std::system_error. */
inline std::uint64_t wait_for(std::uint64_t microseconds) {
    return libthence_tasks::sleep_ns(microseconds > UINT64_MAX / 1000 ? UINT64_MAX : microseconds * 1000) / 1000;
}

/** @brief A task that waits, and for what. */
struct waiting_task {
    std::string label;        /**< empty if it has none */
    const void *submitted_at; /**< an address in the code that submitted it, for a symbolizer */
    std::string state;        /**< what it waits for, in words */
    std::uint64_t events;     /**< those that have not been lowered */
};

/** @brief All tasks of the process, of any flow, that are blocked, sleep, or wait for events, children or earlier
 *         tasks, or in submit() since too many of their children are open (flow_options::most_open). While tasks run,
 *         this is a hint. */
inline std::vector<waiting_task> waiting_tasks() {
    std::vector<waiting_task> all;
    libthence_tasks::report_waiting(
        [](const detail::task_report &one, void *data) {
            static_cast<std::vector<waiting_task> *>(data)->push_back(
                {one.label != nullptr ? one.label : "", one.submitted_at, one.state, one.events});
        },
        &all);
    return all;
}

} // namespace thence
