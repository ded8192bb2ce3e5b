// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/** @file exec/spawn_future.hpp
 *  @brief Starts a sender in a scope at once, and returns a sender of its result, the future. To destroy the future
 *         requests stop.
 *
 *  Completion signatures: those of the sender, values and errors decayed; set_error_t(std::exception_ptr) unless
 *  storing them is noexcept; set_stopped_t(), also if the scope refuses the sender.
 *
 *  The state is the only allocation, with get_allocator of the given environment or of the sender's. The scope is not
 *  joined before the future has completed or is destroyed.
 *
 *  Source: C++26 [exec.spawn.future]; P3149. */

// Invariants.
//  - `first_` is `none` until one of two sides sets it: the operation sets `completed` when it completes; the future
//    sets the address of a waiter when it is started, or `abandoned` when it is destroyed. The other side then finds it
//    set: it notifies the waiter, takes the result, or destroys the state. It does not change again after that.
//  - The two sides may be compiled into different shared objects that hide their symbols. So the marks are numbers: the
//    address of an inline variable would differ between the two.
//  - Only the second side, or the waiter after it was notified, destroys the state.
//  - The future requests stop before it sets `abandoned`, so the operation cannot destroy the state during the request.

#include <thence/exec/detail/allocate.hpp>
#include <thence/exec/detail/kept_outcome.hpp>
#include <thence/exec/detail/stop_callback_slot.hpp>
#include <thence/exec/scope.hpp>
#include <thence/exec/stop_when.hpp>
#include <thence/exec/write_env.hpp>

#include <cstdint>

namespace thence::exec {

namespace detail {

struct future_waiter {
    void (*notify)(future_waiter *) noexcept = nullptr;
};

/** The sender that is started: stop requests of the future's receiver reach it. */
template <class S> using future_work_t = decltype(stop_when(std::declval<S>(), inplace_stop_token()));

template <class S, class Association, class Allocator> class future_state : immovable {
    struct future_receiver {
        using receiver_concept = receiver_t;
        future_state *state;

        template <class... Vs> void set_value(Vs &&...values) &&noexcept {
            state->template complete<set_value_t>(static_cast<Vs &&>(values)...);
        }
        template <class E> void set_error(E &&error) &&noexcept {
            state->template complete<set_error_t>(static_cast<E &&>(error));
        }
        void set_stopped() &&noexcept { state->template complete<set_stopped_t>(); }
    };
    using input = completion_signatures_of_t<future_work_t<S>, env<>>;
    static constexpr bool nothrow = kept_list<input>::nothrow;

public:
    using completions = join_completions_t<typename map_completions<input, decayed_signature>::type,
                                           completions_if_throwing<nothrow>, completion_signatures<set_stopped_t()>>;
    inplace_stop_source stop;

    future_state(S &&s, Allocator allocator, Association association)
        : allocator_(allocator), association_(static_cast<Association &&>(association)),
          operation_(exec::connect(stop_when(static_cast<S &&>(s), stop.get_token()), future_receiver{this})) {}

    void run() noexcept {
        if (association_) {
            exec::start(operation_);
        } else {
            complete<set_stopped_t>();
        }
    }
    void wait(future_waiter *waiter) noexcept {
        std::uintptr_t found = none;
        if (!first_.compare_exchange(found, reinterpret_cast<std::uintptr_t>(waiter))) {
            waiter->notify(waiter);
        }
    }
    void abandon() noexcept {
        stop.request_stop();
        std::uintptr_t found = none;
        if (!first_.compare_exchange(found, abandoned)) {
            destroy();
        }
    }
    void destroy() noexcept {
        const Association last = static_cast<Association &&>(association_);
        deallocate(allocator_, this);
    }
    template <class Fn> void visit(Fn &&fn) noexcept { outcome_.visit(static_cast<Fn &&>(fn)); }

private:
    static constexpr std::uintptr_t none = 0, completed = 1, abandoned = 2;
    static_assert(alignof(future_waiter) > abandoned, "no waiter has such an address");

    template <class Tag, class... As> void complete(As &&...as) noexcept {
        keep<Tag>(outcome_, static_cast<As &&>(as)...);
        const std::uintptr_t found = first_.exchange(completed);
        if (found == abandoned) {
            destroy();
        } else if (found != none) {
            auto *waiter = reinterpret_cast<future_waiter *>(found);
            waiter->notify(waiter);
        }
    }

    [[no_unique_address]] Allocator allocator_;
    Association association_;
    atomic<std::uintptr_t> first_{none};
    kept_outcome_t<input, std::tuple<set_stopped_t>> outcome_;
    connect_result_t<future_work_t<S>, future_receiver> operation_;
};

/** Owns the result. If it is destroyed before it is taken, the operation is abandoned. */
template <class State> class future_owner {
public:
    explicit future_owner(State *state) noexcept : state_(state) {}
    future_owner(future_owner &&other) noexcept : state_(std::exchange(other.state_, nullptr)) {}
    future_owner &operator=(future_owner other) noexcept {
        std::swap(state_, other.state_);
        return *this;
    }
    ~future_owner() {
        if (state_ != nullptr) {
            state_->abandon();
        }
    }
    State *get() const noexcept { return state_; }
    State *release() noexcept { return std::exchange(state_, nullptr); }

private:
    State *state_;
};

template <class State, class R> class future_operation : future_waiter, immovable {
public:
    using operation_state_concept = operation_state_t;

    future_operation(future_owner<State> owner, R r) noexcept(std::is_nothrow_move_constructible_v<R>)
        : owner_(static_cast<future_owner<State> &&>(owner)), receiver_(static_cast<R &&>(r)) {
        this->notify = [](future_waiter *self) noexcept { static_cast<future_operation *>(self)->deliver_outcome(); };
    }
    void start() &noexcept {
        on_stop_.set(get_stop_token(exec::get_env(receiver_)), forward_stop{&owner_.get()->stop});
        owner_.get()->wait(this);
    }

private:
    void deliver_outcome() noexcept {
        on_stop_.reset();
        State *state = owner_.release();
        state->visit([this, state]<class... As>(std::tuple<As...> &kept) noexcept {
            // Moved out first: when the receiver is completed, the scope may be joined and destroyed.
            std::tuple<As...> taken(static_cast<std::tuple<As...> &&>(kept));
            state->destroy();
            deliver(static_cast<R &&>(receiver_), taken);
        });
    }

    future_owner<State> owner_;
    [[no_unique_address]] R receiver_;
    [[no_unique_address]] stop_callback_slot<stop_token_of_t<env_of_t<R>>, forward_stop> on_stop_;
};

template <class State> class [[nodiscard]] future_sender {
public:
    using sender_concept = sender_t;

    explicit future_sender(State *state) noexcept : owner_(state) {}
    template <class, class...> static consteval auto get_completion_signatures() {
        return typename State::completions();
    }
    template <receiver R> auto connect(R r) &&noexcept(std::is_nothrow_move_constructible_v<R>) {
        return future_operation<State, R>(static_cast<future_owner<State> &&>(owner_), static_cast<R &&>(r));
    }

private:
    future_owner<State> owner_;
};

} // namespace detail

/** @brief `spawn_future(sender, token, environment)`: a move-only sender. Values and errors must not throw when moved.
 */
struct spawn_future_t {
    template <sender S, scope_token Token, class Env = env<>>
    [[nodiscard]] auto operator()(S &&s, Token token, Env environment = {}) const {
        auto chosen = detail::allocator_of(env(environment, exec::get_env(s)));
        auto wrapped = write_env(token.wrap(static_cast<S &&>(s)), static_cast<Env &&>(environment));
        using state = detail::future_state<decltype(wrapped), detail::association_t<Token>, decltype(chosen)>;
        state *made = detail::allocate_from<state>(
            chosen, [&] { return state(static_cast<decltype(wrapped) &&>(wrapped), chosen, token.try_associate()); });
        detail::future_sender<state> future(made);
        made->run();
        return future;
    }
};
inline constexpr spawn_future_t spawn_future{};

} // namespace thence::exec
