// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/** @file exec/counting_scope.hpp
 *  @brief Scopes that count the operations in them. The sender `join()` completes when there are none.
 *
 *  spawn(), spawn_future() and associate() with `scope.get_token()` start operations in a scope. A scope in which any
 *  operation was must be joined before it is destroyed, otherwise the program ends. After `close()` no operation can be
 *  started in it. `counting_scope::request_stop()` requests stop of all its operations.
 *
 *  Completion signatures of join(): set_value_t(); errors and set_stopped_t() of the scheduler of the environment. If
 *  it has to wait, it completes on that scheduler, or, without one, where the last operation has completed.
 *
 *  Source: C++26 [exec.counting.scopes]; P3149. */

// Invariants.
//  - The lock guards the count, the flags and the list of joins.
//  - A scope becomes joined once, with count zero. It accepts no association after that.
//  - The thread that makes the scope joined removes the list of joins, and does not access the scope after that: any of
//    the joins may destroy it.

#include <cstdio>
#include <exception>

#include <thence/exec/detail/atomic.hpp>
#include <thence/exec/schedulers.hpp>
#include <thence/exec/scope.hpp>
#include <thence/exec/stop_when.hpp>

namespace thence::exec {

namespace detail {

struct join_waiter {
    join_waiter *next = nullptr;
    void (*notify)(join_waiter *) noexcept = nullptr;
};

/** The base of both scopes. */
class scope_base {
public:
    scope_base() = default;
    scope_base(scope_base &&) = delete;

    /** @brief Refuses all operations that are started later. Thread-safe. */
    void close() noexcept {
        const locked lock(lock_);
        closed_ = true;
    }

    bool enter() noexcept {
        const locked lock(lock_);
        if (closed_ || joined_) {
            return false;
        }
        ++count_;
        used_ = true;
        return true;
    }
    void leave() noexcept {
        join_waiter *first = nullptr;
        {
            const locked lock(lock_);
            if (--count_ == 0 && joins_ != nullptr) {
                joined_ = true;
                first = std::exchange(joins_, nullptr);
            }
        }
        while (first != nullptr) {
            join_waiter *each = std::exchange(first, first->next);
            each->notify(each);
        }
    }
    /** @return whether the scope is joined now. If not, `waiter` is notified when it is. */
    bool join_or_wait(join_waiter *waiter) noexcept {
        const locked lock(lock_);
        if (count_ == 0) {
            joined_ = true;
            return true;
        }
        waiter->next = std::exchange(joins_, waiter);
        return false;
    }

protected:
    ~scope_base() {
        if (used_ && !joined_) {
            not_joined();
        }
    }

private:
    [[noreturn, gnu::noinline]] static void not_joined() noexcept {
        std::fputs(
            "thence: a scope is destroyed before it was joined: operations in it may still run, and may use local "
            "objects. Join it before it is destroyed, also if an exception is thrown: sync_wait(scope.join()), or "
            "co_await scope.join()\n",
            stderr);
        std::terminate();
    }

    spin_lock lock_;
    bool used_ = false;
    bool closed_ = false;
    bool joined_ = false;
    std::size_t count_ = 0;
    join_waiter *joins_ = nullptr;
};

/** An association with a scope: counts 1 in it. */
template <class Scope> class counting_association {
public:
    counting_association() = default;
    explicit counting_association(Scope *scope) noexcept
        : scope_(scope != nullptr && scope->enter() ? scope : nullptr) {}
    counting_association(counting_association &&other) noexcept : scope_(std::exchange(other.scope_, nullptr)) {}
    counting_association &operator=(counting_association other) noexcept {
        std::swap(scope_, other.scope_);
        return *this;
    }
    ~counting_association() {
        if (scope_ != nullptr) {
            scope_->leave();
        }
    }
    explicit operator bool() const noexcept { return scope_ != nullptr; }
    counting_association try_associate() const noexcept { return counting_association(scope_); }

private:
    Scope *scope_ = nullptr;
};

template <class R> inline constexpr bool has_scheduler = answers<env_of_t<R>, get_scheduler_t>;

/** Completes the receiver of join(), on its scheduler if it has one, else at once. */
template <class R> struct join_completion {
    struct inner_receiver {
        using receiver_concept = receiver_t;
        R *receiver;
        void set_value() &&noexcept { exec::set_value(static_cast<R &&>(*receiver)); }
        template <class E> void set_error(E &&error) &&noexcept {
            exec::set_error(static_cast<R &&>(*receiver), static_cast<E &&>(error));
        }
        void set_stopped() &&noexcept { exec::set_stopped(static_cast<R &&>(*receiver)); }
        env_of_t<R> get_env() const noexcept { return exec::get_env(*receiver); }
    };
    using source = schedule_result_t<decltype(get_scheduler(std::declval<env_of_t<R>>()))>;
    connect_result_t<source, inner_receiver> operation;

    explicit join_completion(R &receiver)
        : operation(exec::connect(exec::schedule(get_scheduler(exec::get_env(receiver))), inner_receiver{&receiver})) {}
    void start() noexcept { exec::start(operation); }
};
template <class R>
requires(!has_scheduler<R>) struct join_completion<R> {
    R &receiver;
    explicit join_completion(R &r) noexcept : receiver(r) {}
    void start() noexcept { exec::set_value(static_cast<R &&>(receiver)); }
};

template <class R> class join_operation : join_waiter, immovable {
public:
    using operation_state_concept = operation_state_t;

    join_operation(scope_base *scope, R r) : scope_(scope), receiver_(static_cast<R &&>(r)), completion_(receiver_) {
        this->notify = [](join_waiter *self) noexcept { static_cast<join_operation *>(self)->completion_.start(); };
    }
    void start() &noexcept {
        if (scope_->join_or_wait(this)) {
            exec::set_value(static_cast<R &&>(receiver_));
        }
    }

private:
    scope_base *scope_;
    [[no_unique_address]] R receiver_;
    join_completion<R> completion_;
};

struct join_sender {
    using sender_concept = sender_t;
    scope_base *scope;

    template <class, class... Env> static consteval auto get_completion_signatures() {
        if constexpr ((answers<Env, get_scheduler_t> || ...)) {
            return join_completions_t<
                completion_signatures<set_value_t()>,
                completion_signatures_of_t<schedule_result_t<std::invoke_result_t<get_scheduler_t, Env>>, Env>...>();
        } else {
            return completion_signatures<set_value_t()>();
        }
    }
    template <receiver R> auto connect(R r) const { return join_operation<R>(scope, static_cast<R &&>(r)); }
};

} // namespace detail

/** @brief A scope that only counts its operations. */
class simple_counting_scope : public detail::scope_base {
public:
    class token {
    public:
        template <sender S> S &&wrap(S &&s) const noexcept { return static_cast<S &&>(s); }
        auto try_associate() const noexcept { return detail::counting_association<simple_counting_scope>(scope_); }

    private:
        friend simple_counting_scope;
        explicit token(simple_counting_scope *scope) noexcept : scope_(scope) {}
        simple_counting_scope *scope_;
    };
    token get_token() noexcept { return token(this); }
    auto join() noexcept { return detail::join_sender{this}; }
};

/** @brief A scope that counts its operations and can request stop of all of them. */
class counting_scope : public detail::scope_base {
public:
    class token {
    public:
        template <sender S> auto wrap(S &&s) const {
            return stop_when(static_cast<S &&>(s), scope_->stop_.get_token());
        }
        auto try_associate() const noexcept { return detail::counting_association<counting_scope>(scope_); }

    private:
        friend counting_scope;
        explicit token(counting_scope *scope) noexcept : scope_(scope) {}
        counting_scope *scope_;
    };
    token get_token() noexcept { return token(this); }
    auto join() noexcept { return detail::join_sender{this}; }
    void request_stop() noexcept { stop_.request_stop(); }

private:
    inplace_stop_source stop_;
};

} // namespace thence::exec
