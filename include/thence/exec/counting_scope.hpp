// SPDX-License-Identifier: BSD-3-Clause
#ifndef THENCE_EXEC_COUNTING_SCOPE_HPP
#define THENCE_EXEC_COUNTING_SCOPE_HPP
#if __cplusplus < 202002L
#error "thence/exec/counting_scope.hpp needs C++20: compile with -std=c++20"
#else

/** @file exec/counting_scope.hpp
 *  @brief Scopes that count the work in them: `join()` is a sender that completes when there is none left.
 *
 *  Work enters through spawn(), spawn_future() or associate() with `scope.get_token()`. A scope that work was in must
 *  be joined before it is destroyed, otherwise the program ends. `close()` refuses new work; counting_scope also asks
 *  what is in it to stop: `request_stop()`.
 *
 *  Completion signatures of join(): set_value_t(); errors and set_stopped_t() of the scheduler in the environment, on
 *  which it completes if it had to wait. Without one it completes where the last work ended.
 *
 *  Source: C++26 [exec.counting.scopes]; P3149. */

// Invariants.
//  - count, flags and the list of joins are read and written under the lock.
//  - A scope becomes joined once, with count zero, and takes no association after that.
//  - Who makes it joined takes the list of joins with it and touches the scope no more: any of them may destroy it.

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
    void (*tell)(join_waiter *) noexcept = nullptr;
};

/** What both scopes share. */
class scope_base {
public:
    scope_base() = default;
    scope_base(scope_base &&) = delete;

    /** @brief Takes no more work. */
    void close() noexcept {
        const locked lock(lock_);
        closed_ = true;
    }

    bool enter() noexcept {
        const locked lock(lock_);
        if (closed_ || joined_)
            return false;
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
            join_waiter *told = std::exchange(first, first->next);
            told->tell(told);
        }
    }
    /** @return whether the scope is joined now; otherwise `waiter` is told when it is. */
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
        if (used_ && !joined_)
            not_joined();
    }

private:
    [[noreturn, gnu::noinline]] static void not_joined() noexcept {
        std::fputs(
            "thence: a scope is destroyed before it was joined: work in it may still be going on, with what lives "
            "around it. Wait for it first, on all ways that leave, also of exceptions: sync_wait(scope.join()), or "
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

/** One share of the count of a scope. */
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
        if (scope_ != nullptr)
            scope_->leave();
    }
    explicit operator bool() const noexcept { return scope_ != nullptr; }
    counting_association try_associate() const noexcept { return counting_association(scope_); }

private:
    Scope *scope_ = nullptr;
};

template <class R> inline constexpr bool has_scheduler = answers<env_of_t<R>, get_scheduler_t>;

/** Goes to the receiver's scheduler and completes there; without one, at once. */
template <class R> struct join_arrival {
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

    explicit join_arrival(R &receiver)
        : operation(exec::connect(exec::schedule(get_scheduler(exec::get_env(receiver))), inner_receiver{&receiver})) {}
    void start() noexcept { exec::start(operation); }
};
template <class R>
requires(!has_scheduler<R>) struct join_arrival<R> {
    R &receiver;
    explicit join_arrival(R &r) noexcept : receiver(r) {}
    void start() noexcept { exec::set_value(static_cast<R &&>(receiver)); }
};

template <class R> class join_operation : join_waiter, immovable {
public:
    using operation_state_concept = operation_state_t;

    join_operation(scope_base *scope, R r) : scope_(scope), receiver_(static_cast<R &&>(r)), arrival_(receiver_) {
        this->tell = [](join_waiter *self) noexcept { static_cast<join_operation *>(self)->arrival_.start(); };
    }
    void start() &noexcept {
        if (scope_->join_or_wait(this))
            exec::set_value(static_cast<R &&>(receiver_));
    }

private:
    scope_base *scope_;
    [[no_unique_address]] R receiver_;
    join_arrival<R> arrival_;
};

struct join_sender {
    using sender_concept = sender_t;
    scope_base *scope;

    template <class, class... Env> static consteval auto get_completion_signatures() {
        if constexpr ((answers<Env, get_scheduler_t> || ...))
            return join_completions_t<
                completion_signatures<set_value_t()>,
                completion_signatures_of_t<schedule_result_t<std::invoke_result_t<get_scheduler_t, Env>>, Env>...>();
        else
            return completion_signatures<set_value_t()>();
    }
    template <receiver R> auto connect(R r) const { return join_operation<R>(scope, static_cast<R &&>(r)); }
};

} // namespace detail

/** @brief Counts, and leaves its work alone. */
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

/** @brief Counts, and can ask all its work to stop. */
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

#endif // C++20
#endif
