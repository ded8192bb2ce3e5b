// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/** @file exec/task.hpp
 *  @brief A coroutine that is a sender and can await senders: `task<T> f() { T x = co_await sender; co_return x; }`.
 *
 *  Completion signatures: set_value_t(T), or set_value_t() for void; set_error_t(std::exception_ptr); set_stopped_t().
 *
 *  A task starts when it is awaited, or when its operation is started. The stop token of the coroutine or receiver that
 *  waits for it is get_stop_token in its environment. If a sender that it awaits is stopped, the task ends there, its
 *  local objects are destroyed, and it completes as stopped. Its frame is its only allocation. Each thread keeps the
 *  memory of some frames for later tasks.
 *
 *  It resumes on the thread on which what it awaits has completed, as std::execution::task does with an inline
 *  scheduler. To resume elsewhere, write `co_await (sender | continues_on(scheduler))`.
 *
 *  A task that awaits tasks in a loop needs no more stack for it if the compiler makes the resumption a tail call. GCC
 *  does with -O2 or more, and with -foptimize-sibling-calls at any level. Without it, about ten thousand iterations of
 *  `co_await task()` overflow the stack.
 *
 *  Source: C++26 [exec.task], of which it has no allocator, no affinity and no error types. */

// Invariants.
//  - The task owns the frame, until an awaiter or operation takes it over. Only the owner destroys it.
//  - `waiter` is set before the coroutine runs. It is notified once: by the final suspension, or by
//    unhandled_stopped(). The coroutine is not resumed after that, and the waiter may destroy the frame.

#include <thence/exec/as_awaitable.hpp>
#include <thence/exec/detail/frame_memory.hpp>
#include <thence/exec/detail/stop_callback_slot.hpp>

namespace thence::exec {

template <class T> class task;

namespace detail {

/** An awaiter or operation that waits for a task. Each function returns the coroutine to resume next. */
struct task_waiter {
    std::coroutine_handle<> (*completed)(task_waiter *) noexcept = nullptr;
    std::coroutine_handle<> (*stopped)(task_waiter *) noexcept = nullptr;
};

struct task_env {
    inplace_stop_token token;
    inplace_stop_token query(get_stop_token_t) const noexcept { return token; }
};

struct task_promise_base : kept_frame {
    task_waiter *waiter; // set before the first resumption, as `token`
    inplace_stop_token token;

    struct final_awaiter {
        static constexpr bool await_ready() noexcept { return false; }
        template <class Promise>
        static std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> coroutine) noexcept {
            task_waiter *waiting = coroutine.promise().waiter;
            return waiting->completed(waiting);
        }
        static void await_resume() noexcept {}
    };
    static std::suspend_always initial_suspend() noexcept { return {}; }
    static final_awaiter final_suspend() noexcept { return {}; }
    std::coroutine_handle<> unhandled_stopped() noexcept { return waiter->stopped(waiter); }
    task_env get_env() const noexcept { return {token}; }
};

/** The result of a task<T>: its value or exception. */
template <class T> struct task_result {
    using kept = std::conditional_t<std::is_reference_v<T>, std::remove_reference_t<T> *, T>;
    variant<kept, std::exception_ptr> result;

    template <std::convertible_to<T> U = T> void return_value(U &&value) {
        if constexpr (std::is_reference_v<T>) {
            result.template emplace<kept>(&value);
        } else {
            result.template emplace<kept>(static_cast<U &&>(value));
        }
    }
    T take() {
        if constexpr (std::is_reference_v<T>) {
            return static_cast<T>(*result.template get<kept>());
        } else {
            return static_cast<T &&>(result.template get<kept>());
        }
    }
    template <class R> void send(R &&receiver) noexcept {
        if constexpr (std::is_reference_v<T>) {
            exec::set_value(static_cast<R &&>(receiver), static_cast<T>(*result.template get<kept>()));
        } else {
            exec::set_value(static_cast<R &&>(receiver), static_cast<T &&>(result.template get<kept>()));
        }
    }
};
template <> struct task_result<void> {
    variant<std::exception_ptr> result;

    static void return_void() noexcept {}
    static void take() noexcept {}
    template <class R> static void send(R &&receiver) noexcept { exec::set_value(static_cast<R &&>(receiver)); }
};

template <class T> struct task_promise : task_promise_base, task_result<T> {
    task<T> get_return_object() noexcept;
    [[gnu::noinline]] void unhandled_exception() noexcept {
        this->result.template emplace<std::exception_ptr>(std::current_exception());
    }
    // The operand of co_await exists until the end of the whole expression. So if a sender has a member
    // await_in_place(promise), the awaiter that it returns may refer to the sender, which need not be moved.
    template <class U> decltype(auto) await_transform(U &&value) {
        if constexpr (requires { static_cast<U &&>(value).await_in_place(*this); }) {
            return static_cast<U &&>(value).await_in_place(*this);
        } else {
            return as_awaitable(static_cast<U &&>(value), *this);
        }
    }
    bool failed() const noexcept { return this->result.template holds<std::exception_ptr>(); }
    std::exception_ptr &&error() noexcept {
        return static_cast<std::exception_ptr &&>(this->result.template get<std::exception_ptr>());
    }
};

/** Owns the frame of a task. */
template <class T> class task_frame {
public:
    explicit task_frame(std::coroutine_handle<task_promise<T>> handle) noexcept : handle_(handle) {}
    task_frame(task_frame &&other) noexcept : handle_(std::exchange(other.handle_, {})) {}
    task_frame &operator=(task_frame other) noexcept {
        std::swap(handle_, other.handle_);
        return *this;
    }
    ~task_frame() {
        if (handle_) {
            handle_.destroy();
        }
    }
    std::coroutine_handle<task_promise<T>> release() noexcept { return std::exchange(handle_, {}); }

private:
    std::coroutine_handle<task_promise<T>> handle_;
};

/** The awaiter of `co_await task` in a coroutine whose stop token is a Token. */
template <class T, class Token> class task_awaiter : task_waiter, immovable {
public:
    explicit task_awaiter(task_frame<T> frame) noexcept : frame_(frame.release()) {}
    ~task_awaiter() { frame_.destroy(); }

    static constexpr bool await_ready() noexcept { return false; }
    template <class Promise> std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> waiting) noexcept {
        waiting_ = waiting;
        completed = [](task_waiter *waiter) noexcept {
            auto *self = static_cast<task_awaiter *>(waiter);
            self->token_.reset();
            return self->waiting_;
        };
        stopped = [](task_waiter *waiter) noexcept -> std::coroutine_handle<> {
            auto *self = static_cast<task_awaiter *>(waiter);
            self->token_.reset();
            if constexpr (requires(Promise & promise) { promise.unhandled_stopped(); }) {
                return std::coroutine_handle<Promise>::from_address(self->waiting_.address())
                    .promise()
                    .unhandled_stopped();
            } else {
                std::terminate(); // the waiting coroutine cannot be stopped
            }
        };
        frame_.promise().waiter = this;
        if constexpr (std::is_same_v<stop_token_of_t<env_of_t<Promise>>, Token>) {
            frame_.promise().token = token_.set(get_stop_token(exec::get_env(waiting.promise())));
        }
        return frame_;
    }
    T await_resume() {
        if (frame_.promise().failed()) [[unlikely]] {
            std::rethrow_exception(frame_.promise().error());
        }
        return frame_.promise().take();
    }

private:
    std::coroutine_handle<task_promise<T>> frame_;
    std::coroutine_handle<> waiting_;
    [[no_unique_address]] inplace_token_of<Token> token_;
};

/** The operation state of a task. */
template <class T, class R> class task_operation : task_waiter, immovable {
public:
    using operation_state_concept = operation_state_t;

    task_operation(task_frame<T> frame, R receiver) noexcept(std::is_nothrow_move_constructible_v<R>)
        : receiver_(static_cast<R &&>(receiver)), frame_(frame.release()) {
        completed = [](task_waiter *waiter) noexcept -> std::coroutine_handle<> {
            static_cast<task_operation *>(waiter)->send();
            return std::noop_coroutine();
        };
        stopped = [](task_waiter *waiter) noexcept -> std::coroutine_handle<> {
            auto *self = static_cast<task_operation *>(waiter);
            self->token_.reset();
            exec::set_stopped(static_cast<R &&>(self->receiver_));
            return std::noop_coroutine();
        };
    }
    ~task_operation() { frame_.destroy(); }
    void start() &noexcept {
        frame_.promise().waiter = this;
        frame_.promise().token = token_.set(get_stop_token(exec::get_env(receiver_)));
        frame_.resume();
    }

private:
    void send() noexcept {
        token_.reset();
        if (frame_.promise().failed()) [[unlikely]] {
            exec::set_error(static_cast<R &&>(receiver_), frame_.promise().error());
        } else {
            frame_.promise().send(static_cast<R &&>(receiver_));
        }
    }

    [[no_unique_address]] R receiver_;
    std::coroutine_handle<task_promise<T>> frame_;
    [[no_unique_address]] inplace_token_of<stop_token_of_t<env_of_t<R>>> token_;
};

} // namespace detail

/** @brief A lazy coroutine. It can be awaited or connected once, as an rvalue. */
template <class T = void> class [[nodiscard]] task {
public:
    using promise_type = detail::task_promise<T>;
    using sender_concept = sender_t;

    template <class, class...> static consteval auto get_completion_signatures() {
        return detail::await_completions<T>();
    }
    template <receiver R> auto connect(R r) &&noexcept(std::is_nothrow_move_constructible_v<R>) {
        return detail::task_operation<T, R>(static_cast<detail::task_frame<T> &&>(frame_), static_cast<R &&>(r));
    }
    template <class Promise> auto as_awaitable(Promise &) &&noexcept {
        return detail::task_awaiter<T, stop_token_of_t<env_of_t<Promise>>>(
            static_cast<detail::task_frame<T> &&>(frame_));
    }
    auto operator co_await() &&noexcept {
        return detail::task_awaiter<T, never_stop_token>(static_cast<detail::task_frame<T> &&>(frame_));
    }

private:
    friend promise_type;
    explicit task(promise_type &promise) noexcept
        : frame_(std::coroutine_handle<promise_type>::from_promise(promise)) {}

    detail::task_frame<T> frame_;
};

template <class T> task<T> detail::task_promise<T>::get_return_object() noexcept {
    return task<T>(*this);
}

} // namespace thence::exec
