// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/** @file exec/run_loop.hpp
 *  @brief A queue of operations, which threads in run() complete in order until finish() was called and it is empty.
 *
 *  Completion signatures of its scheduler: set_value_t(); set_stopped_t() if stop was requested before its turn.
 *
 *  Source: C++26 [exec.run.loop]. */

// Invariants.
//  - An operation is in the queue from start() until a thread in run() removes it, while it holds the mutex, and
//    completes it.
//  - finish() and push() signal while they hold the mutex. So they do not access the loop after run() has returned, and
//    the thread that returns from run() may destroy the loop.

#include <thence/exec/connect.hpp>
#include <thence/exec/detail/mutex.hpp>
#include <thence/exec/schedulers.hpp>

namespace thence::exec {

/** @brief A queue of operations that run() completes.
 *  @note Threads: any number may call run(), schedule and finish() at once. */
class run_loop {
    struct task_base : detail::immovable {
        task_base *next = nullptr;
        void (*execute)(task_base *) noexcept = nullptr;
    };

    template <class R> struct operation : task_base {
        using operation_state_concept = operation_state_t;
        run_loop *loop;
        [[no_unique_address]] R receiver;

        operation(run_loop *l, R r) noexcept(std::is_nothrow_move_constructible_v<R>)
            : loop(l), receiver(static_cast<R &&>(r)) {
            this->execute = [](task_base *base) noexcept {
                R &completed = static_cast<operation *>(base)->receiver;
                if (get_stop_token(exec::get_env(completed)).stop_requested()) {
                    exec::set_stopped(static_cast<R &&>(completed));
                } else {
                    exec::set_value(static_cast<R &&>(completed));
                }
            };
        }
        void start() &noexcept { loop->push(this); }
    };

public:
    class scheduler_type;

    run_loop() = default;
    run_loop(run_loop &&) = delete;
    ~run_loop() {
        if (head_ != nullptr) {
            std::terminate(); // these operations would never complete
        }
    }

    scheduler_type get_scheduler() noexcept;

    /** @brief Completes operations until finish() has been called and none is left. */
    void run() noexcept {
        while (task_base *task = pop()) {
            task->execute(task);
        }
    }
    /** @brief Makes run() return when the queue is empty. */
    void finish() noexcept {
        const detail::locked lock(mutex_);
        finishing_ = true;
        ready_.notify_all();
    }

private:
    void push(task_base *task) noexcept {
        const detail::locked lock(mutex_);
        (head_ == nullptr ? head_ : tail_->next) = task;
        tail_ = task;
        ready_.notify_one();
    }
    task_base *pop() noexcept {
        const detail::locked lock(mutex_);
        while (head_ == nullptr && !finishing_) {
            ready_.wait(mutex_);
        }
        task_base *task = head_;
        if (task != nullptr) {
            head_ = task->next;
        }
        return task;
    }

    detail::mutex mutex_;
    detail::condition ready_;
    task_base *head_ = nullptr;
    task_base *tail_ = nullptr; // valid while head_ is not null
    bool finishing_ = false;
};

/** @brief The scheduler of a run_loop, which must outlive it. */
class run_loop::scheduler_type {
    struct environment {
        run_loop *loop;
        template <class Tag>
        requires(detail::contains<Tag, set_value_t, set_stopped_t>) scheduler_type
            query(get_completion_scheduler_t<Tag>)
        const noexcept { return scheduler_type(loop); }
    };
    struct sender_type {
        using sender_concept = sender_t;
        run_loop *loop;

        template <class, class...> static consteval auto get_completion_signatures() {
            return completion_signatures<set_value_t(), set_stopped_t()>();
        }
        template <receiver R> auto connect(R r) const noexcept(std::is_nothrow_move_constructible_v<R>) {
            return operation<R>(loop, static_cast<R &&>(r));
        }
        environment get_env() const noexcept { return {loop}; }
    };

public:
    using scheduler_concept = scheduler_t;

    sender_type schedule() const noexcept { return {loop_}; }
    template <class Tag>
    requires(detail::contains<Tag, set_value_t, set_stopped_t>) scheduler_type query(get_completion_scheduler_t<Tag>)
    const noexcept { return *this; }
    friend bool operator==(const scheduler_type &, const scheduler_type &) noexcept = default;

private:
    friend run_loop;
    explicit scheduler_type(run_loop *loop) noexcept : loop_(loop) {}

    run_loop *loop_;
};

inline run_loop::scheduler_type run_loop::get_scheduler() noexcept {
    return scheduler_type(this);
}

} // namespace thence::exec
