// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/** @file exec/split.hpp
 *  @brief A sender that can be copied: the copies of `split(sender)` start the sender once, when the first copy is
 *         started, and all of them complete with const references to its result.
 *
 *  A stop request of the receiver of one copy requests stop of the sender, so of all copies.
 *
 *  Completion signatures: set_value_t(const Values &...), set_error_t(const Error &) for those of the sender;
 *  set_error_t(const std::exception_ptr &) unless storing them is noexcept; set_stopped_t().
 *
 *  Source: P2300R10 [exec.split]. */

// Invariants.
//  - waiting_ is null (not started), a list of waiters (running), or `end_` (complete), in this order. The thread that
//    changes null into a list starts the sender. The thread that sets `end_` notifies all waiters of the list. A thread
//    that finds `end_` notifies its own waiter.
//  - outcome_ is written before `end_` is stored, and not after that.
//  - Each copy, each operation, and the sender while it runs hold one reference. The last one destroys the state.

#include <thence/exec/connect.hpp>
#include <thence/exec/detail/kept_outcome.hpp>
#include <thence/exec/detail/stop_callback_slot.hpp>
#include <thence/exec/sender_adaptor_closure.hpp>

namespace thence::exec {

namespace detail {

struct split_waiter {
    split_waiter *next = nullptr;
    void (*notify)(split_waiter *) noexcept = nullptr;
};

/** The signature with which a copy completes. */
template <class Sig> struct constant_signature;
template <class Tag, class... As> struct constant_signature<Tag(As...)> {
    using type = completion_signatures<Tag(const std::decay_t<As> &...)>;
};

using split_env = prop<get_stop_token_t, inplace_stop_token>;

template <class S> class split_state : immovable {
    struct split_receiver {
        using receiver_concept = receiver_t;
        split_state *state;

        template <class... Vs> void set_value(Vs &&...values) &&noexcept {
            state->template complete<set_value_t>(static_cast<Vs &&>(values)...);
        }
        template <class E> void set_error(E &&error) &&noexcept {
            state->template complete<set_error_t>(static_cast<E &&>(error));
        }
        void set_stopped() &&noexcept { state->template complete<set_stopped_t>(); }
        split_env get_env() const noexcept { return {get_stop_token, state->stop.get_token()}; }
    };
    using input = completion_signatures_of_t<S, split_env>;
    static constexpr bool nothrow = kept_list<input>::nothrow;

public:
    using completions =
        join_completions_t<typename map_completions<input, constant_signature>::type,
                           std::conditional_t<nothrow, completion_signatures<>,
                                              completion_signatures<set_error_t(const std::exception_ptr &)>>,
                           completion_signatures<set_stopped_t()>>;

    inplace_stop_source stop;

    explicit split_state(S &&s) : operation_(exec::connect(static_cast<S &&>(s), split_receiver{this})) {}

    void retain() noexcept { references_.fetch_add(1, order::relaxed); }
    void release() noexcept {
        if (references_.fetch_sub(1) == 1) {
            delete this;
        }
    }
    /** Notifies the waiter, now or later. The caller holds a reference until then. */
    void wait(split_waiter *waiter) noexcept {
        split_waiter *found = waiting_.load();
        do {
            if (found == &end_) {
                waiter->notify(waiter);
                return;
            }
            waiter->next = found;
        } while (!waiting_.compare_exchange(found, waiter));
        if (found == nullptr) {
            retain();
            exec::start(operation_);
        }
    }
    template <class Fn> void visit(Fn &&fn) noexcept { outcome_.visit(static_cast<Fn &&>(fn)); }

private:
    template <class Tag, class... As> void complete(As &&...as) noexcept {
        keep<Tag>(outcome_, static_cast<As &&>(as)...);
        split_waiter *first = nullptr; // in the order of their start
        for (split_waiter *w = waiting_.exchange(&end_); w != nullptr;) {
            first = std::exchange(w, std::exchange(w->next, first));
        }
        while (first != nullptr) {
            split_waiter *each = std::exchange(first, first->next);
            each->notify(each); // it may be destroyed now
        }
        release();
    }

    split_waiter end_;
    atomic<split_waiter *> waiting_{nullptr};
    atomic<std::size_t> references_{1};
    kept_outcome_t<input> outcome_;
    connect_result_t<S, split_receiver> operation_;
};

template <class State> class shared {
public:
    explicit shared(State *owned) noexcept : state_(owned) {}
    shared(const shared &other) noexcept : state_(other.state_) {
        if (state_ != nullptr) {
            state_->retain(); // NOLINT(clang-analyzer-cplusplus.NewDelete): it sees no atomic count
        }
    }
    shared(shared &&other) noexcept : state_(std::exchange(other.state_, nullptr)) {}
    shared &operator=(shared other) noexcept {
        std::swap(state_, other.state_);
        return *this;
    }
    ~shared() {
        if (state_ != nullptr) {
            state_->release(); // NOLINT(clang-analyzer-cplusplus.NewDelete): as above
        }
    }
    State *operator->() const noexcept { return state_; }

private:
    State *state_;
};

template <class State, class R> struct split_operation : split_waiter, immovable {
    using operation_state_concept = operation_state_t;
    shared<State> state;
    [[no_unique_address]] R receiver;
    [[no_unique_address]] stop_callback_slot<stop_token_of_t<env_of_t<R>>, forward_stop> on_stop;

    split_operation(shared<State> s, R r) noexcept(std::is_nothrow_move_constructible_v<R>)
        : state(static_cast<shared<State> &&>(s)), receiver(static_cast<R &&>(r)) {
        this->notify = [](split_waiter *self) noexcept { static_cast<split_operation *>(self)->complete(); };
    }
    void start() &noexcept {
        on_stop.set(get_stop_token(exec::get_env(receiver)), forward_stop{&state->stop});
        state->wait(this);
    }

private:
    void complete() noexcept {
        on_stop.reset();
        state->visit([this](const auto &kept) noexcept {
            std::apply([this](auto tag, const auto &...as) { tag(static_cast<R &&>(receiver), as...); }, kept);
        });
    }
};

template <class State> struct split_sender {
    using sender_concept = sender_t;
    shared<State> state;

    template <class, class...> static consteval auto get_completion_signatures() {
        return typename State::completions();
    }
    template <receiver R> auto connect(R r) &&noexcept(std::is_nothrow_move_constructible_v<R>) {
        return split_operation<State, R>(static_cast<shared<State> &&>(state), static_cast<R &&>(r));
    }
    template <receiver R> auto connect(R r) const &noexcept(std::is_nothrow_move_constructible_v<R>) {
        return split_operation<State, R>(state, static_cast<R &&>(r));
    }
};

} // namespace detail

/** @brief `split(sender)`, `sender | split()`. One allocation. */
struct split_t : sender_adaptor_closure<split_t> {
    template <sender S> auto operator()(S &&s) const {
        using state = detail::split_state<std::decay_t<S>>;
        return detail::split_sender<state>{
            detail::shared<state>(new state(static_cast<std::decay_t<S>>(static_cast<S &&>(s))))};
    }
    constexpr auto operator()() const noexcept { return *this; }
};
inline constexpr split_t split{};

} // namespace thence::exec
