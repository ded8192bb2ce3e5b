// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/** @file senders/sync_wait.hpp
 *  @brief `thence::sync_wait(sender)`: as `thence::ex::sync_wait`, but the waiting thread makes MPI progress and runs
 *         the timers of thence::timeout().
 *
 *  `ex::sync_wait` sleeps. With it another thread must make progress, or it waits for ever: a thread of the program, or
 *  the library's helper thread (`THENCE_PROGRESS=thread`). */

// Invariants of the loop.
//  - The last access of a scheduled task to the loop is the exchange that puts it into the list. The last access of
//    finish() is its store. The thread in run() may destroy the loop after it has seen either.
//  - Tasks run in the order in which they were scheduled.

#include <cstdio>
#include <exception>
#include <optional>
#include <stdexcept>

#include <thence/backoff.h>
#include <thence/error.hpp>
#include <thence/execution.hpp>
#include <thence/senders/detail/completions.hpp>
#include <thence/senders/detail/continuation_requests.hpp>
#include <thence/senders/detail/timers.hpp>

#if !defined(THENCE_EXECUTION_IS_THENCE)
#include <system_error>
#endif

namespace thence {

/** @brief A run loop whose run() makes MPI progress between tasks. One thread calls run(); any thread may schedule. */
class progress_loop {
    struct task {
        task *next = nullptr;
        void (*execute)(task *) noexcept = nullptr;
    };
    template <class R> struct operation : task {
        using operation_state_concept = ex::operation_state_t;
        progress_loop *loop;
        [[no_unique_address]] R receiver;

        operation(progress_loop *l, R r) : loop(l), receiver(static_cast<R &&>(r)) {
            this->execute = [](task *self) noexcept {
                detail::complete_scheduled(static_cast<operation *>(self)->receiver);
            };
        }
        operation(operation &&) = delete;
        void start() &noexcept { loop->push(this); }
    };

public:
    class scheduler;

    progress_loop() = default;
    progress_loop(progress_loop &&) = delete;
    ~progress_loop() {
        if (added_.load(detail::order::relaxed) != nullptr) {
            std::fputs(
                "thence: a progress_loop is destroyed with tasks that have not run. Keep it, and call run(), until "
                "all that is scheduled on it is complete\n",
                stderr);
            std::terminate();
        }
    }
    inline scheduler get_scheduler() noexcept;

    /** @brief Runs tasks and makes progress until finish() has been called and no task is left.
     *  @throws thence::mpi_inactive before MPI_Init and after MPI_Finalize; thence::error if MPI reports an error from
     *          progress. */
    void run() {
        detail::need_mpi("thence::progress_loop::run: called");
        thence_backoff backoff = THENCE_BACKOFF_INIT;
        for (;;) {
            if (run_added()) {
                thence_backoff_found(&backoff);
                continue;
            }
            if (finished_.load(detail::order::acquire)) {
                if (!run_added()) {
                    return;
                }
                continue;
            }
            long ran = 0;
            check(thence_progress_some(&ran), "make progress");
            if (libthence_senders::run_timers() || ran > 0) {
                thence_backoff_found(&backoff);
                continue;
            }
            if (added_.load(detail::order::relaxed) == nullptr && !finished_.load(detail::order::relaxed)) {
                thence_backoff_pause(&backoff);
            }
        }
    }
    /** @brief Makes run() return when no task is left. Thread-safe. */
    void finish() noexcept { finished_.store(true, detail::order::release); }

private:
    void push(task *added) noexcept {
        task *first = added_.load(detail::order::relaxed);
        do {
            added->next = first;
        } while (!added_.compare_exchange(first, added, detail::order::release));
    }
    bool run_added() noexcept {
        if (added_.load(detail::order::relaxed) == nullptr) {
            return false;
        }
        task *in_order = nullptr;
        for (task *newest = added_.exchange(nullptr, detail::order::acquire); newest != nullptr;) {
            task *next = newest->next;
            newest->next = in_order;
            in_order = newest;
            newest = next;
        }
        while (in_order != nullptr) {
            task *oldest = in_order;
            in_order = oldest->next; // the task may be destroyed when it runs
            oldest->execute(oldest);
        }
        return true;
    }

    detail::atomic<task *> added_{nullptr}; // newest first
    detail::atomic<bool> finished_{false};
};

/** @brief The scheduler of a progress_loop, which must outlive it. */
class progress_loop::scheduler : public detail::scheduler_base<scheduler, progress_loop *> {
    friend scheduler_base;
    template <class R> using operation = progress_loop::operation<R>;

public:
    using scheduler_base::scheduler_base;
};

inline progress_loop::scheduler progress_loop::get_scheduler() noexcept {
    return scheduler(this);
}

namespace detail {

struct sync_wait_env {
    progress_loop *loop;
    auto query(ex::get_scheduler_t) const noexcept { return loop->get_scheduler(); }
    auto query(ex::get_delegation_scheduler_t) const noexcept { return loop->get_scheduler(); }
#if defined(THENCE_EXECUTION_HAS_START_SCHEDULER)
    auto query(ex::get_start_scheduler_t) const noexcept {
        return loop->get_scheduler();
    }
#endif
};

template <class T> inline constexpr bool adaptor_alone = false;
template <class T>
requires std::is_class_v<T>
inline constexpr bool adaptor_alone<T> = std::is_base_of_v<ex::sender_adaptor_closure<T>, T> && !ex::sender<T>;

/** The tuple of values that a thread which waits for S gets. The assertions say what to change. */
template <class S, class Env> struct waited_values {
    using type = std::tuple<>; // avoids a second message
    using plain = std::remove_cvref_t<S>;
    static_assert(!adaptor_alone<plain>,
                  "sync_wait: this is an adaptor that has no sender before it; begin with one, as in just() | "
                  "transform_mpi(f)");
    static_assert(adaptor_alone<plain> || ex::sender<plain>,
                  "sync_wait: this is not a sender: it has no `using sender_concept = sender_t`, and no coroutine can "
                  "await it");
    static_assert(!ex::sender<plain> || !ex::sender_in<plain, Env>,
                  "sync_wait: this sender can be waited for only once: pass it with std::move()");
    static_assert(!ex::sender<plain> || ex::sender_in<plain, Env>,
                  "sync_wait: how the sender completes is not known here; it may ask the environment for something "
                  "that only write_env(sender, prop{query, value}) can answer");
};
template <class S, class Env>
requires ex::sender_in<S, Env>
struct waited_values<S, Env> {
    using completions = ex::completion_signatures_of_t<S, Env>;
    static_assert(value_completions<completions> == 1,
                  "sync_wait: the sender must have exactly one way to complete with values; handle or turn the others "
                  "into it with then(), upon_error(), or pipe it into into_variant()");
    using type = std::conditional_t<value_completions<completions> == 1, first_values_of<completions>, std::tuple<>>;
};
/** Whether a thread can wait for S. If not, waited_values has given a message. */
template <class S, class Env> inline constexpr bool waitable = false;
template <class S, class Env>
requires ex::sender_in<S, Env>
inline constexpr bool waitable<S, Env> = value_completions<ex::completion_signatures_of_t<S, Env>> == 1;

/** @return the exception that ex::sync_wait throws for `error`. */
template <class E> std::exception_ptr thrown_as(E &&error) noexcept {
#if defined(THENCE_EXECUTION_IS_THENCE)
    return exec::detail::as_exception(static_cast<E &&>(error));
#else
    if constexpr (std::is_same_v<std::decay_t<E>, std::exception_ptr>) {
        return static_cast<E &&>(error);
    } else if constexpr (std::is_same_v<std::decay_t<E>, std::error_code>) {
        return std::make_exception_ptr(std::system_error(error));
    } else {
        return std::make_exception_ptr(static_cast<E &&>(error));
    }
#endif
}

/** What a thread that waits for a sender gets. */
template <class Result> struct waited_for {
    std::exception_ptr error;
    std::optional<Result> result;

    /** When it is over. */
    std::optional<Result> take() {
        if (error) {
            std::rethrow_exception(static_cast<std::exception_ptr &&>(error));
        }
        return static_cast<std::optional<Result> &&>(result);
    }
};

/** `State` is a waited_for, and has `finish()`, which lets the thread go on and is the last access to it, and
 *  `get_env()`. */
template <class State> struct waiting_receiver {
    using receiver_concept = ex::receiver_t;
    State *state;

    template <class... Vs>
    requires std::is_constructible_v<typename decltype(State::result)::value_type, Vs...>
    void set_value(Vs &&...values) &&noexcept {
        try {
            state->result.emplace(static_cast<Vs &&>(values)...);
        } catch (...) {
            state->error = std::current_exception();
        }
        state->finish();
    }
    template <class E> void set_error(E &&error) &&noexcept {
        state->error = thrown_as(static_cast<E &&>(error));
        state->finish();
    }
    void set_stopped() &&noexcept { state->finish(); }
    auto get_env() const noexcept { return state->get_env(); }
};

template <class Result> struct sync_wait_state : waited_for<Result> {
    progress_loop loop;

    void finish() noexcept { loop.finish(); }
    sync_wait_env get_env() noexcept { return {&loop}; }
};

} // namespace detail

/** @brief Starts `sender` and waits until it completes. The calling thread makes MPI progress meanwhile.
 *  @return the values as a tuple in an optional, which is empty if the sender was stopped.
 *  @throws the exception of a std::exception_ptr, a std::error_code as std::system_error (with thence::exec: include
 *          thence/exec/error_code.hpp), any other error as it is; thence::mpi_inactive before MPI_Init and
 *          after MPI_Finalize (ex::sync_wait() needs no MPI); std::logic_error inside a completion of a sender over
 *          MPI, where no other completion can run: put `continues_on(scheduler)` before it.
 *  @note Threads: any that may call MPI. */
struct sync_wait_t {
    template <class S> auto operator()(S &&s) const {
        using result = typename detail::waited_values<S, detail::sync_wait_env>::type;
        using state_type = detail::sync_wait_state<result>;
        if (detail::completing) {
            throw std::logic_error(
                "thence::sync_wait: called inside the completion of an MPI operation, where no other "
                "operation can complete on this thread; put continues_on(scheduler) before it, or "
                "go on with let_value() or co_await instead of waiting");
        }
        detail::need_mpi("thence::sync_wait: called");
        state_type state;
        if constexpr (detail::waitable<S, detail::sync_wait_env>) {
            auto operation = ex::connect(static_cast<S &&>(s), detail::waiting_receiver<state_type>{&state});
            ex::start(operation);
            state.loop.run();
        }
        return state.take();
    }
};
inline constexpr sync_wait_t sync_wait{};

} // namespace thence
