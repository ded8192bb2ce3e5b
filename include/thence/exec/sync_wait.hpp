// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/** @file exec/sync_wait.hpp
 *  @brief Starts a sender and blocks the calling thread until it completes.
 *
 *  The waiting thread runs a run_loop, which is the sender's get_scheduler and get_delegation_scheduler. It sleeps
 *  while the loop has nothing to do.
 *
 *  Completion signatures that it accepts: exactly one set_value_t(Vs...), which is the result; set_error_t(E) of any E,
 *  which is thrown; set_stopped_t(), without a result.
 *
 *  Source: C++26 [exec.sync.wait]. */

#include <optional>

#include <thence/exec/detail/as_exception.hpp>
#include <thence/exec/run_loop.hpp>

namespace thence::exec {

namespace detail {

struct sync_wait_env {
    run_loop *loop;
    auto query(get_scheduler_t) const noexcept { return loop->get_scheduler(); }
    auto query(get_delegation_scheduler_t) const noexcept { return loop->get_scheduler(); }
};

template <class Values> struct sync_wait_result {
    static_assert(
        always_false<Values>,
        "sync_wait: the sender must have exactly one way to complete with values; handle or turn the others into it "
        "with then(), upon_error(), or pipe it into into_variant()");
    using type = std::tuple<>; // avoids a second message
};
template <class Tuple> struct sync_wait_result<list<Tuple>> { using type = Tuple; };

template <class Result> struct sync_wait_state {
    run_loop loop;
    std::exception_ptr error;
    std::optional<Result> result;
};

template <class Result> struct sync_wait_receiver {
    using receiver_concept = receiver_t;
    sync_wait_state<Result> *state;

    template <class... Vs>
    requires std::constructible_from<Result, Vs...>
    void set_value(Vs &&...values) &&noexcept {
        try {
            state->result.emplace(static_cast<Vs &&>(values)...);
        } catch (...) {
            state->error = std::current_exception();
        }
        state->loop.finish();
    }
    template <class E> void set_error(E &&error) &&noexcept {
        state->error = as_exception(static_cast<E &&>(error));
        state->loop.finish();
    }
    void set_stopped() &&noexcept { state->loop.finish(); }
    sync_wait_env get_env() const noexcept { return {&state->loop}; }
};

} // namespace detail

/** @brief Starts `sender` and waits until it completes.
 *  @return the values as a tuple in an optional, which is empty if the sender was stopped.
 *  @throws the exception of a std::exception_ptr, or any other error as it is. */
struct sync_wait_t {
    template <class S> auto operator()(S &&s) const {
        using plain = std::remove_cvref_t<S>;
        static_assert(sender<plain>,
                      "sync_wait: this is not a sender: it has no `using sender_concept = sender_t`, and no "
                      "coroutine can await it");
        static_assert(sender_in<S, detail::sync_wait_env> || !sender_in<plain, detail::sync_wait_env>,
                      "sync_wait: this sender can be waited for only once: pass it with std::move()");
        static_assert(!sender<plain> || sender_in<plain, detail::sync_wait_env>,
                      "sync_wait: how the sender completes is not known here; it may ask the environment for something "
                      "that only write_env(sender, prop{query, value}) can answer");
        if constexpr (sender_in<S, detail::sync_wait_env>) {
            using result = typename detail::sync_wait_result<value_types_of_t<S, detail::sync_wait_env>>::type;
            detail::sync_wait_state<result> state;
            auto operation = connect(static_cast<S &&>(s), detail::sync_wait_receiver<result>{&state});
            start(operation);
            state.loop.run();
            if (state.error) {
                std::rethrow_exception(static_cast<std::exception_ptr &&>(state.error));
            }
            return static_cast<std::optional<result> &&>(state.result);
        }
    }
};
inline constexpr sync_wait_t sync_wait{};

} // namespace thence::exec
