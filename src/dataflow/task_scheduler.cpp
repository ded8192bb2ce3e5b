// SPDX-License-Identifier: BSD-3-Clause
#include "dataflow/task_scheduler.hpp"

#include <utility>

namespace thence::dataflow {

thread_state &this_thread() noexcept {
    static constinit thread_local thread_state state;
    asm volatile("");
    return state;
}

task_scheduler::~task_scheduler() {
    for (base::spin_wait wait;;) {
        {
            const std::scoped_lock guard(lock_);
            if (inside_ == 0 && called_ == 0 && calling_.load(std::memory_order_acquire) == 0) {
                return;
            }
        }
        wait();
    }
}

void task_scheduler::push(task &ready) noexcept {
    lock_.lock();
    queue_.push(ready);
    call_and_unlock();
}

void task_scheduler::push(task_list &ready) noexcept {
    lock_.lock();
    while (task *const one = ready.pop()) {
        queue_.push(*one);
    }
    call_and_unlock();
}

inline bool task_scheduler::leaves_tasks_to_searchers() const noexcept {
    return searching_ != 0 && (searching_ != polling_ || !queue_.has_several());
}

void task_scheduler::call_and_unlock() noexcept {
    if (called_ != 0 || queue_.empty() || leaves_tasks_to_searchers()) {
        return lock_.unlock();
    }
    ++called_;
    calling_.fetch_add(1, std::memory_order_relaxed);
    lock_.unlock();
    if (!arena_.call([](void *self) noexcept { static_cast<task_scheduler *>(self)->run_as_worker(); }, this)) {
        const std::scoped_lock guard(lock_);
        --called_; // no memory: the next push or pop calls again
    }
    calling_.fetch_sub(1, std::memory_order_release);
}

bool task_scheduler::must_leave() const noexcept {
    if (resuming_.load(std::memory_order_relaxed) > 0) {
        return true;
    }
    const std::atomic<bool> *const resume_requested = this_thread().resume_requested;
    return resume_requested != nullptr && resume_requested->load(std::memory_order_relaxed);
}

// A thread stops running tasks where it suspends one, and where it leaves run_as_worker().
void task_scheduler::this_thread_stops() noexcept {
    thread_state &state = this_thread();
    if (state.at_end != nullptr) [[unlikely]] {
        std::exchange(state.at_end, nullptr)();
    }
}

// @return whether there may be a task.
bool task_scheduler::search_again() noexcept {
    for (int i = 0; i < most_searches; ++i) {
        if (!queue_.empty()) {
            return true;
        }
        if (must_leave()) {
            return false;
        }
        base::cpu_relax();
    }
    return poll_for_a_task();
}

std::atomic<int (*)()> task_scheduler::idle_poll_{nullptr};

// This poll finds a message that arrives soon. It is short, since a worker that polls takes the processor from other
// threads. If the worker has lost its processor meanwhile, other threads need it: the worker does not yield, which
// would cost a time slice, but leaves and sleeps.
bool task_scheduler::poll_for_a_task() noexcept {
    int (*const poll)() = idle_poll_.load(std::memory_order_acquire);
    if (poll == nullptr) {
        return false;
    }
    poll_watchdog::poller self(*this);
    {
        const std::scoped_lock guard(lock_);
        if (!queue_.empty()) {
            return true; // pushed after the last search, for this worker
        }
        ++polling_;
    }
    const bool watched = poll_watchdog::add(self);
    const bool found = watched && poll_until_a_task(poll, self);
    const bool late = watched && poll_watchdog::remove(self);
    const std::scoped_lock guard(lock_);
    if (late) {
        ++searching_; // polls_late() has decremented it
    } else {
        --polling_;
    }
    return found;
}

bool task_scheduler::poll_until_a_task(int (*poll)(), poll_watchdog::poller &self) const noexcept {
    const auto begun = std::chrono::steady_clock::now();
    for (auto before = begun;;) {
        self.begins_call();
        const bool more = poll() != 0;
        if (!queue_.empty()) {
            return true;
        }
        const auto after = std::chrono::steady_clock::now();
        if (!more || must_leave() || after - begun > most_polling || after - before > lost_processor) {
            return false;
        }
        before = after;
        base::cpu_relax();
    }
}

void task_scheduler::polls_late() noexcept {
    lock_.lock();
    --searching_;
    --polling_;
    call_and_unlock();
}

void task_scheduler::run_as_worker() noexcept {
    lock_.lock();
    --called_;
    ++inside_;
    for (;;) {
        task *next = queue_.pop();
        if (next == nullptr) {
            ++searching_;
            lock_.unlock();
            const bool more = search_again();
            lock_.lock();
            --searching_;
            if (!more && queue_.empty()) {
                break;
            }
            continue;
        }
        ++running_;
        call_and_unlock();
        do {
            next = run_(*next);
        } while (next != nullptr && !must_leave());
        lock_.lock();
        --running_;
        if (next != nullptr) {
            queue_.push(*next);
        }
        tell_if_idle();
        if (must_leave()) {
            break;
        }
    }
    this_thread_stops();
    --inside_;
    call_and_unlock();
}

// Call it after `running_` is decremented, with the lock. It releases the lock while it calls `on_idle_`.
void task_scheduler::tell_if_idle() noexcept {
    if (!nothing_runs() || idle_waiters_.load(std::memory_order_relaxed) == 0) [[likely]] {
        return;
    }
    lock_.unlock();
    on_idle_(on_idle_data_);
    lock_.lock();
}

void task_scheduler::suspend(suspended &stack, const after_suspend &after) {
    struct visit {
        task_scheduler &scheduler;
        suspended &stack;
        const after_suspend &after;
        const thread_state *thread;
    } asked{*this, stack, after, &this_thread()};
    if (this_thread().running != nullptr) {
        return suspend_here(stack, after);
    }
    arena_.visit(
        [](void *data) {
            const visit &by = *static_cast<visit *>(data);
            if (&this_thread() != by.thread) { // the arena has no slot for that thread, so this is a worker
                return by.scheduler.suspend_for_other(by.stack, by.after);
            }
            this_thread().resume_requested = &by.stack.resume_requested;
            suspend_stack(by.stack, by.after);
            static_cast<void>(by.stack.resume_requested.load(std::memory_order_acquire)); // pairs with resume()
            this_thread().resume_requested = nullptr;
        },
        &asked);
}

// suspend_here() decrements `running_` and increments it again, so this thread counts as running a task.
void task_scheduler::suspend_for_other(suspended &stack, const after_suspend &after) {
    lock_.lock();
    ++running_;
    lock_.unlock();
    suspend_here(stack, after);
    lock_.lock();
    --running_;
    tell_if_idle();
    call_and_unlock();
}

void task_scheduler::suspend_here(suspended &stack, const after_suspend &after) {
    task *const running = this_thread().running;
    stack.scheduler = this;
    lock_.lock();
    --running_;
    tell_if_idle();
    call_and_unlock();
    this_thread().running = nullptr;
    this_thread_stops();
    suspend_stack(stack, after);
    static_cast<void>(stack.resume_requested.load(std::memory_order_acquire)); // pairs with resume()
    resuming_.fetch_sub(1, std::memory_order_relaxed);
    lock_.lock();
    ++running_;
    lock_.unlock();
    this_thread().running = running;
}

void task_scheduler::resume(suspended &stack) noexcept {
    if (stack.scheduler != nullptr) {
        stack.scheduler->resuming_.fetch_add(1, std::memory_order_relaxed);
    }
    stack.resume_requested.store(true, std::memory_order_release);
    resume_stack(stack);
}

} // namespace thence::dataflow
