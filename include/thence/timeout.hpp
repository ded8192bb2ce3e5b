// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/** @file timeout.hpp
 *  @brief A sender with a deadline: `co_await (comm.recv(reply, 0) | thence::timeout(100ms))`.
 *
 *  `timeout(sender, duration)` starts the sender, and requests stop of it when the duration after the start is over.
 *  What the sender does then decides how it completes: a receive that has matched its message completes with the
 *  message; a receive that MPI could cancel fails with thence::timed_out. A sender that cannot be stopped, such as a
 *  send of thence/mpi.hpp, completes when its operation is complete. A stop request of the receiver is passed on; if it
 *  comes before the deadline, the sender completes as stopped. A duration of zero or less requests stop before the
 *  start. A group of which only some operations could be cancelled fails with thence::partly_stopped.
 *
 *  A value does not say whether it came in time. `timeout(duration, late)` does: it sets `bool &late` before it
 *  completes, to whether the duration was over first, so that stop was requested.
 *
 *  Completion signatures: those of the sender, with values and errors by value; set_error_t(std::exception_ptr), which
 *  holds a thence::timed_out if it was stopped because of the deadline.
 *
 *  Threads that make progress run the timers, see timers.hpp. The completion after a deadline runs on such a thread. */

// Invariants.
//  - pending_ counts 1 for the sender until it has completed, and 1 for each thread that is in request_stop(). The last
//    of them completes the receiver. So the operation is not destroyed while a thread requests stop, and the stop
//    source not inside its own request_stop().
//  - The first that requests stop stores who it is in stopped_by_ before the request. That decides whether a stopped
//    sender completes as stopped or as timed out.
//  - Timer and stop callback are removed before the sender is subtracted from pending_. So pending_ does not grow after
//    that.

#include <chrono>
#include <exception>
#include <optional>
#include <variant>

#include <thence/execution.hpp>
#include <thence/senders/detail/completions.hpp>
#include <thence/timers.hpp>

namespace thence {

/** @brief The error of thence::timeout(): the sender was stopped because its time was over. */
class timed_out : public std::exception {
public:
    const char *what() const noexcept override { return "thence::timeout: the time of the operation is over"; }
};

namespace detail {

/** The environment of the sender: that of the receiver with another stop token. */
template <class Env> struct timeout_env {
    ex::inplace_stop_token token;
    [[no_unique_address]] Env outer;

    ex::inplace_stop_token query(ex::get_stop_token_t) const noexcept { return token; }
    template <class Query, class... As>
    requires(!std::is_same_v<Query, ex::get_stop_token_t> && requires(const Env &e, Query q, As &&...as) {
        e.query(q, static_cast<As &&>(as)...);
    }) decltype(auto) query(Query q, As &&...as) const noexcept {
        return outer.query(q, static_cast<As &&>(as)...);
    }
};

template <class Sig> struct by_value;
template <class Tag, class... As> struct by_value<Tag(As...)> {
    using type = Tag(std::decay_t<As>...);
    using kept = std::tuple<Tag, std::decay_t<As>...>;
};

template <class Completions> struct timeout_completions;
template <class... Sigs> struct timeout_completions<ex::completion_signatures<Sigs...>> {
    using list = typename add_signatures<signatures<ex::set_error_t(std::exception_ptr)>,
                                         typename by_value<Sigs>::type...>::type;
    using type = typename as_completions<list>::type;
    template <class List> struct outcomes;
    template <class... All> struct outcomes<signatures<All...>> {
        using type = std::variant<std::monostate, typename by_value<All>::kept...>;
    };
    using kept = typename outcomes<list>::type;
};

template <class S, class R> class timeout_operation final : timer {
    using outer_env = ex::env_of_t<R>;
    using outer_token = ex::stop_token_of_t<outer_env>;
    using completions = timeout_completions<ex::completion_signatures_of_t<S, timeout_env<outer_env>>>;

    struct inner_receiver {
        using receiver_concept = ex::receiver_t;
        timeout_operation *self;

        template <class... Vs> void set_value(Vs &&...values) &&noexcept {
            self->completed(ex::set_value_t(), static_cast<Vs &&>(values)...);
        }
        template <class E> void set_error(E &&error) &&noexcept {
            self->completed(ex::set_error_t(), static_cast<E &&>(error));
        }
        void set_stopped() &&noexcept { self->completed(ex::set_stopped_t()); }
        timeout_env<outer_env> get_env() const noexcept {
            return {self->source_.get_token(), ex::get_env(self->receiver_)};
        }
    };
    using requester = unsigned char; // not an enumeration, for which Clang has no atomic builtins
    static constexpr requester none = 0, deadline = 1, receiver = 2;

    struct on_stop {
        timeout_operation *self;
        void operator()() noexcept {
            timeout_operation *const operation = self; // *this may be destroyed during the call
            operation->pending_.fetch_add(1, order::relaxed);
            operation->stop(timeout_operation::receiver);
        }
    };
    template <class Token> struct listening {
        std::optional<typename Token::template callback_type<on_stop>> callback;
        void start(Token token, timeout_operation *self) { callback.emplace(token, on_stop{self}); }
        void end() noexcept { callback.reset(); }
    };
    template <ex::unstoppable_token Token> struct listening<Token> {
        static void start(Token, timeout_operation *) noexcept {}
        static void end() noexcept {}
    };

public:
    using operation_state_concept = ex::operation_state_t;

    timeout_operation(S &&s, timer_time after, bool *late, R r)
        : receiver_(static_cast<R &&>(r)), after_(after), late_(late),
          operation_(ex::connect(static_cast<S &&>(s), inner_receiver{this})) {}

    void start() &noexcept {
        if (after_ <= 0) {
            pending_.store(2, order::relaxed);
            stop(deadline);
        } else if (after_ != never) {
            libthence_senders::set_timer(*this, read_monotonic_clock() + after_);
        }
        listening_.start(ex::get_stop_token(ex::get_env(receiver_)), this);
        ex::start(operation_);
    }

private:
    // The functions of the timer.
    void begin() noexcept override { pending_.fetch_add(1, order::relaxed); }
    void run() noexcept override { stop(deadline); }

    /** Requests stop. The caller is counted in pending_. */
    void stop(requester by) noexcept {
        requester before = none;
        stopped_by_.compare_exchange(before, by);
        source_.request_stop();
        if (pending_.fetch_sub(1, order::acq_rel) == 1) {
            complete_with_kept();
        }
    }
    template <class Tag, class... As> void completed(Tag tag, As &&...as) noexcept {
        if (after_ > 0 && after_ != never) {
            libthence_senders::cancel_timer(*this);
        }
        listening_.end();
        if (pending_.load(order::acquire) == 1) {
            complete(tag, static_cast<As &&>(as)...);
            return;
        }
        using kept = typename by_value<Tag(As...)>::kept;
        if constexpr (std::is_nothrow_constructible_v<kept, Tag, As...>) {
            kept_.template emplace<kept>(tag, static_cast<As &&>(as)...);
        } else {
            try {
                kept_.template emplace<kept>(tag, static_cast<As &&>(as)...);
            } catch (...) {
                kept_.template emplace<std::tuple<ex::set_error_t, std::exception_ptr>>(ex::set_error_t(),
                                                                                        std::current_exception());
            }
        }
        if (pending_.fetch_sub(1, order::acq_rel) == 1) {
            complete_with_kept();
        }
    }
    void complete_with_kept() noexcept {
        std::visit(
            [this]<class Kept>(Kept &kept) {
                if constexpr (!std::is_same_v<Kept, std::monostate>) {
                    std::apply([this]<class Tag, class... As>(
                                   Tag tag, As &...as) { this->complete(tag, static_cast<As &&>(as)...); },
                               kept);
                }
            },
            kept_);
    }
    template <class Tag, class... As> void complete(Tag tag, As &&...as) noexcept {
        if (late_ != nullptr) {
            *late_ = stopped_by_.load(order::acquire) == deadline;
        }
        if constexpr (std::is_same_v<Tag, ex::set_stopped_t>) {
            if (stopped_by_.load(order::acquire) == deadline) {
                ex::set_error(static_cast<R &&>(receiver_), std::make_exception_ptr(timed_out()));
                return;
            }
        }
        if constexpr ((std::is_nothrow_constructible_v<std::decay_t<As>, As> && ...)) {
            tag(static_cast<R &&>(receiver_), by_value_of<As>(static_cast<As &&>(as))...);
        } else {
            complete_copied(tag, static_cast<As &&>(as)...);
        }
    }
    /** A && for an rvalue of type A, which is passed on; else the type of the copy. */
    template <class A>
    using by_value_of = std::conditional_t<std::is_same_v<A &&, std::decay_t<A> &&>, A &&, std::decay_t<A>>;
    template <class Tag, class... As> void complete_copied(Tag tag, As &&...as) noexcept {
        std::optional<std::tuple<std::decay_t<As>...>> copied;
        try {
            copied.emplace(static_cast<As &&>(as)...);
        } catch (...) {
            ex::set_error(static_cast<R &&>(receiver_), std::current_exception());
            return;
        }
        std::apply([&](auto &...mine) { tag(static_cast<R &&>(receiver_), std::move(mine)...); }, *copied);
    }

    [[no_unique_address]] R receiver_;
    timer_time after_;
    bool *late_;
    atomic<unsigned> pending_{1};
    atomic<requester> stopped_by_{none};
    ex::inplace_stop_source source_;
    [[no_unique_address]] listening<outer_token> listening_;
    typename completions::kept kept_;
    ex::connect_result_t<S, inner_receiver> operation_;
};

template <class S> struct timeout_sender {
    using sender_concept = ex::sender_t;
    timer_time after;
    bool *late;
    [[no_unique_address]] S predecessor;

    template <class Self, class... Env> static consteval auto get_completion_signatures() {
        using predecessor_type = std::conditional_t<std::is_rvalue_reference_v<Self &&>, S, const S &>;
        return
            typename timeout_completions<ex::completion_signatures_of_t<predecessor_type, timeout_env<Env>...>>::type();
    }
    template <ex::receiver R> auto connect(R r) && {
        return timeout_operation<S, R>(static_cast<S &&>(predecessor), after, late, static_cast<R &&>(r));
    }
    template <ex::receiver R>
    requires std::copy_constructible<S>
    auto connect(R r) const & {
        return timeout_operation<const S &, R>(predecessor, after, late, static_cast<R &&>(r));
    }
};

struct timeout_closure : ex::sender_adaptor_closure<timeout_closure> {
    timer_time after;
    bool *late;

    timeout_closure(timer_time a, bool *l) : after(a), late(l) {}
    template <ex::sender S> auto operator()(S &&s) const {
        return timeout_sender<std::decay_t<S>>{after, late, static_cast<S &&>(s)};
    }
};

/** @return nanoseconds; `never` for a duration beyond the range of the clock. */
template <class Rep, class Period> timer_time timer_duration(std::chrono::duration<Rep, Period> given) noexcept {
    const double seconds = std::chrono::duration<double>(given).count();
    if (!(seconds < 1e9)) {
        return never;
    }
    return seconds <= 0 ? 0 : std::chrono::duration_cast<std::chrono::nanoseconds>(given).count();
}

} // namespace detail

/** @brief The type of thence::timeout: `timeout(sender, duration)` and `sender | timeout(duration)`, each optionally
 *         with a `bool &late` as its last argument, which must exist until the sender is complete. See the top of this
 *         file. */
struct timeout_t {
    template <class Rep, class Period> auto operator()(std::chrono::duration<Rep, Period> after) const {
        return detail::timeout_closure(detail::timer_duration(after), nullptr);
    }
    template <class Rep, class Period> auto operator()(std::chrono::duration<Rep, Period> after, bool &late) const {
        return detail::timeout_closure(detail::timer_duration(after), &late);
    }
    template <ex::sender S, class Rep, class Period>
    auto operator()(S &&s, std::chrono::duration<Rep, Period> after) const {
        return operator()(after)(static_cast<S &&>(s));
    }
    template <ex::sender S, class Rep, class Period>
    auto operator()(S &&s, std::chrono::duration<Rep, Period> after, bool &late) const {
        return operator()(after, late)(static_cast<S &&>(s));
    }
};
inline constexpr timeout_t timeout{};

} // namespace thence
