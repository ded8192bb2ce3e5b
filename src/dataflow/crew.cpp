// SPDX-License-Identifier: BSD-3-Clause
#include "dataflow/crew.hpp"

#include <utility>

namespace thence::dataflow {

thread_state &this_thread() noexcept {
    static constinit thread_local thread_state state;
    asm volatile("");
    return state;
}

crew::~crew() {
    for (base::spin_wait wait;;) {
        {
            const std::scoped_lock guard(lock_);
            if (inside_ == 0 && called_ == 0 && calling_.load(std::memory_order_acquire) == 0)
                return;
        }
        wait();
    }
}

void crew::push(task &ready) noexcept {
    lock_.lock();
    queue_.push(ready);
    call_and_unlock();
}

void crew::push(task_list &ready) noexcept {
    lock_.lock();
    while (task *const one = ready.pop())
        queue_.push(*one);
    call_and_unlock();
}

inline bool crew::leaves_tasks_to_searchers() const noexcept {
    return searching_ != 0 && (searching_ != polling_ || !queue_.has_several());
}

void crew::call_and_unlock() noexcept {
    if (called_ != 0 || queue_.empty() || leaves_tasks_to_searchers())
        return lock_.unlock();
    ++called_;
    calling_.fetch_add(1, std::memory_order_relaxed);
    lock_.unlock();
    if (!arena_.call([](void *self) noexcept { static_cast<crew *>(self)->run_as_worker(); }, this)) {
        const std::scoped_lock guard(lock_);
        --called_; // no memory: the next thread that takes or adds a task calls again
    }
    calling_.fetch_sub(1, std::memory_order_release);
}

bool crew::gives_way() const noexcept {
    if (resuming_.load(std::memory_order_relaxed) > 0)
        return true;
    const std::atomic<bool> *const recalled = this_thread().recalled;
    return recalled != nullptr && recalled->load(std::memory_order_relaxed);
}

// A thread stops to run tasks where it suspends one, and where it leaves run_as_worker(). It stops nowhere else, since
// tasks run in run_as_worker() alone.
void crew::this_thread_stops() noexcept {
    thread_state &here = this_thread();
    if (here.at_end != nullptr) [[unlikely]]
        std::exchange(here.at_end, nullptr)();
}

// @return whether there may be a task.
bool crew::search_again() noexcept {
    for (int i = 0; i < most_searches; ++i) {
        if (!queue_.empty())
            return true;
        if (gives_way())
            return false;
        base::cpu_relax();
    }
    return poll_for_a_task();
}

std::atomic<int (*)()> crew::idle_poll_{nullptr};

// A message that comes soon is found here at once. Later ones are left to others, since a worker that polls takes the
// processor from them. A worker that has waited for its processor is in the way of others already. It does not yield, which
// would cost a time slice of the others: it leaves, and sleeps.
bool crew::poll_for_a_task() noexcept {
    int (*const poll)() = idle_poll_.load(std::memory_order_acquire);
    if (poll == nullptr)
        return false;
    poll_watchdog::poller self(*this);
    {
        const std::scoped_lock guard(lock_);
        if (!queue_.empty())
            return true; // pushed since this worker has looked, and left to it
        ++polling_;
    }
    const bool watched = poll_watchdog::add(self);
    const bool found = watched && poll_until_a_task(poll, self);
    const bool late = watched && poll_watchdog::remove(self);
    const std::scoped_lock guard(lock_);
    if (late)
        ++searching_; // it searches again
    else
        --polling_;
    return found;
}

bool crew::poll_until_a_task(int (*poll)(), poll_watchdog::poller &self) const noexcept {
    const auto begun = std::chrono::steady_clock::now();
    for (auto before = begun;;) {
        self.begins_call();
        const bool more = poll() != 0;
        if (!queue_.empty())
            return true;
        const auto now = std::chrono::steady_clock::now();
        if (!more || gives_way() || now - begun > most_polling || now - before > lost_processor)
            return false;
        before = now;
        base::cpu_relax();
    }
}

void crew::polls_late() noexcept {
    lock_.lock();
    --searching_;
    --polling_;
    call_and_unlock();
}

void crew::run_as_worker() noexcept {
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
            if (!more && queue_.empty())
                break;
            continue;
        }
        ++running_;
        call_and_unlock();
        do {
            next = run_(*next);
        } while (next != nullptr && !gives_way());
        lock_.lock();
        --running_;
        if (next != nullptr)
            queue_.push(*next);
        tell_if_idle();
        if (gives_way())
            break;
    }
    this_thread_stops();
    --inside_;
    call_and_unlock();
}

// Called wherever `running_` has been decremented, with the lock, which it releases while it calls `on_idle_`.
void crew::tell_if_idle() noexcept {
    if (!nothing_runs() || idle_waiters_.load(std::memory_order_relaxed) == 0) [[likely]]
        return;
    lock_.unlock();
    on_idle_(on_idle_data_);
    lock_.lock();
}

void crew::suspend(suspended &stack, const arrangement &resumed_by) {
    struct visit {
        crew &of;
        suspended &stack;
        const arrangement &resumed_by;
        const thread_state *thread;
    } asked{*this, stack, resumed_by, &this_thread()};
    if (this_thread().running != nullptr)
        return suspend_here(stack, resumed_by);
    arena_.visit(
        [](void *data) {
            const visit &by = *static_cast<visit *>(data);
            if (&this_thread() != by.thread) // a worker does it for a thread that found no slot in the arena
                return by.of.suspend_for_other(by.stack, by.resumed_by);
            this_thread().recalled = &by.stack.recalled;
            suspend_stack(by.stack, by.resumed_by);
            static_cast<void>(by.stack.recalled.load(std::memory_order_acquire)); // pairs with resume()
            this_thread().recalled = nullptr;
        },
        &asked);
}

// This thread runs no task of the crew, so it is not counted in running_, as suspend_here() expects.
void crew::suspend_for_other(suspended &stack, const arrangement &resumed_by) {
    lock_.lock();
    ++running_;
    lock_.unlock();
    suspend_here(stack, resumed_by);
    lock_.lock();
    --running_;
    tell_if_idle();
    call_and_unlock();
}

void crew::suspend_here(suspended &stack, const arrangement &resumed_by) {
    task *const running = this_thread().running;
    stack.of = this;
    lock_.lock();
    --running_;
    tell_if_idle();
    call_and_unlock();
    this_thread().running = nullptr;
    this_thread_stops();
    suspend_stack(stack, resumed_by);
    static_cast<void>(stack.recalled.load(std::memory_order_acquire)); // pairs with resume()
    resuming_.fetch_sub(1, std::memory_order_relaxed);
    lock_.lock();
    ++running_;
    lock_.unlock();
    this_thread().running = running;
}

void crew::resume(suspended &stack) noexcept {
    if (stack.of != nullptr)
        stack.of->resuming_.fetch_add(1, std::memory_order_relaxed);
    stack.recalled.store(true, std::memory_order_release);
    resume_stack(stack);
}

} // namespace thence::dataflow
