// SPDX-License-Identifier: BSD-3-Clause
#include "dataflow/task_scheduler.hpp"

#include "tbb/workers/repeat_without_memory.hpp"

#include <thence/detail/start_thread.hpp>

#include <algorithm>
#include <memory>
#include <utility>

namespace thence::dataflow {

void task_scheduler::push(task &ready) noexcept {
    lock_.lock();
    queue_.push(ready);
    call_if_needed_and_unlock();
}

void task_scheduler::push(task_list &ready) noexcept {
    lock_.lock();
    while (task *const one = ready.pop()) {
        queue_.push(*one);
    }
    call_if_needed_and_unlock();
}

task *task_scheduler::take(runner &self) noexcept {
    if (self.next != nullptr) {
        return std::exchange(self.next, nullptr); // counts as running still
    }
    task *const taken = queue_.pop();
    running_ += taken != nullptr ? 1 : 0;
    return taken;
}

void task_scheduler::run(runner &self, task &first) noexcept {
    self.next = &first;
    do {
        self.next = run_(*self.next);
        if (--self.until_look <= 0) {
            see_whether_poll_is_due(self);
        }
    } while (self.next != nullptr && !self.poll_is_due && !must_leave());
}

bool task_scheduler::ran(runner &self) noexcept {
    bool polls = std::exchange(self.poll_is_due, false) && !must_leave();
    if (polls && self.next != nullptr) {
        polls = false;
        self.next = poll_once(self.next);
        if (self.next == nullptr) {
            return !must_leave();
        }
        if (self.next->priority >= queue_.best() && !must_leave()) {
            return true;
        }
    }
    --running_;
    if (self.next != nullptr) {
        queue_.push(*std::exchange(self.next, nullptr));
    }
    tell_if_idle();
    if (polls) {
        poll_once(nullptr);
    }
    return !must_leave();
}

bool task_scheduler::search(runner &) noexcept {
    lock_.unlock();
    const bool more = search_again();
    lock_.lock();
    return more || !queue_.empty();
}

bool task_scheduler::leaves(const runner &) noexcept {
    if (this_thread().at_end != nullptr) [[unlikely]] { // a function of another library, which may call this one
        call_if_needed_and_unlock();
        this_thread_stops();
        lock_.lock();
    }
    return false;
}

bool task_scheduler::needs_worker() const noexcept {
    return !queue_.empty() && (searching_ == 0 || (searching_ == polling_ && queue_.has_several()));
}

bool task_scheduler::send() noexcept {
    arena_.call([](void *self) noexcept { static_cast<task_scheduler *>(self)->run_as_worker(); }, this);
    late_workers::watch();
    return true;
}

// With the lock. A worker was called, or a stack is to be resumed, and fewer tasks run than may run at a time.
bool task_scheduler::lacks_worker() const noexcept {
    return (called_ != 0 || resuming_.load(std::memory_order_relaxed) > 0) && running_ < workers_;
}

bool task_scheduler::look_for_late_worker() noexcept {
    const std::scoped_lock guard(lock_);
    const bool lacks = lacks_worker();
    const unsigned number = lacks ? arrived_ + resumed_.load(std::memory_order_relaxed) + 1 : 0;
    if (lacks && number == awaited_ && substitutes_ < workers_) {
        start_substitute();
        awaited_ = 0;
    } else {
        awaited_ = number;
    }
    return lacks;
}

// With the lock. If no thread can be made, a later inspection tries again.
void task_scheduler::start_substitute() noexcept {
    try {
        auto alive = std::make_unique<keep_alive>(*this);
        detail::start_thread([this, alive = std::move(alive)] { substitute(); }).detach();
        ++substitutes_;
    } catch (...) { // std::bad_alloc, std::system_error
    }
}

void task_scheduler::substitute() noexcept {
    for (;;) {
        {
            const std::scoped_lock guard(lock_);
            if (!lacks_worker()) {
                --substitutes_;
                return;
            }
        }
        workers::repeat_without_memory([&] { arena_.help(); });
    }
}

bool task_scheduler::must_leave() const noexcept {
    if (resuming_.load(std::memory_order_relaxed) > 0) {
        return true;
    }
    const std::atomic<bool> *const resume_requested = this_thread().resume_requested;
    return resume_requested != nullptr && resume_requested->load(std::memory_order_relaxed);
}

// A thread stops running tasks where it suspends one, and where it leaves the loop.
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
std::atomic<int (*)()> task_scheduler::busy_poll_{nullptr};

// This poll finds a message that arrives soon. It is short, since a worker that polls takes the processor from other
// threads. If the worker has lost its processor meanwhile, other threads need it: the worker does not yield, which
// would cost a time slice, but leaves and sleeps. While the poll says that no other thread waits for a processor, the
// first worker that polls goes on: a worker that sleeps finds its next task 50 to 100 us late.
bool task_scheduler::poll_for_a_task() noexcept {
    int (*const poll)() = idle_poll_.load(std::memory_order_acquire);
    if (poll == nullptr) {
        return false;
    }
    bool is_first = false;
    {
        const std::scoped_lock guard(lock_);
        if (!queue_.empty()) {
            return true; // pushed after the last search, for this worker
        }
        ++polling_;
        is_first = polling_ == 1;
    }
    poll_watchdog::poller self(*this);
    return watch(self, [&] { return poll_until_a_task(poll, is_first, self); });
}

// Without the lock, by a worker that `polling_` counts. @return what `polls` returns.
template <class Polls> bool task_scheduler::watch(poll_watchdog::poller &self, Polls &&polls) noexcept {
    const bool watched = poll_watchdog::add(self);
    this_thread().polls_for = this;
    const bool found = watched && polls();
    this_thread().polls_for = nullptr; // perhaps another thread
    const bool late = watched && poll_watchdog::remove(self);
    const std::scoped_lock guard(lock_);
    if (late) {
        ++searching_; // polls_late() has decremented it
    } else {
        --polling_;
    }
    return found;
}

void task_scheduler::see_whether_poll_is_due(runner &self) noexcept {
    self.until_look = most_unlooked;
    if (busy_poll_.load(std::memory_order_relaxed) == nullptr) {
        return;
    }
    const base::nanoseconds now = base::read_clock();
    const base::nanoseconds passed = now - self.polled;
    self.poll_is_due = passed >= polls_every;
    if (self.poll_is_due) {
        self.polled = now;
        self.each_look = std::max(1, static_cast<int>(self.each_look * polls_every / passed));
    } else {
        self.each_look = std::min(2 * self.each_look, most_unlooked);
    }
    self.until_look = self.each_look;
}

// With the lock, which it releases meanwhile. If tasks are ready, other workers take them. `held` is the task that
// follows, or null. @return the same, or null if another worker has it since the poll lasts long.
task *task_scheduler::poll_once(task *held) noexcept {
    int (*const poll)() = busy_poll_.load(std::memory_order_acquire);
    if (poll == nullptr) {
        return held;
    }
    ++polling_;
    call_if_needed_and_unlock();
    poll_watchdog::poller self(*this);
    self.held = held;
    watch(self, [&] { return poll() != 0; });
    lock_.lock();
    return self.held;
}

bool task_scheduler::poll_until_a_task(int (*poll)(), bool is_first, poll_watchdog::poller &self) const noexcept {
    const base::nanoseconds begun = base::read_clock();
    for (auto before = begun;;) {
        self.begins_call();
        const int more = poll();
        if (!queue_.empty()) {
            return true;
        }
        const base::nanoseconds after = base::read_clock();
        const bool lasts = is_first && more == may_last;
        if (more == 0 || must_leave() || after - begun > (lasts ? longest_polling : most_polling) ||
            (!lasts && after - before > lost_processor)) {
            return false;
        }
        before = after;
        base::cpu_relax();
    }
}

void task_scheduler::polls_late(poll_watchdog::poller &late) noexcept {
    lock_.lock();
    --searching_;
    --polling_;
    if (late.held != nullptr) {
        queue_.push(*std::exchange(late.held, nullptr));
        --running_;
    }
    call_if_needed_and_unlock();
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
    if (this_thread().polls_for == this) {
        return suspend_outside_of_tasks(stack, after);
    }
    arena_.visit(
        [](void *data) {
            const visit &by = *static_cast<visit *>(data);
            if (&this_thread() != by.thread) { // the arena has no slot for that thread, so this is a worker
                return by.scheduler.suspend_outside_of_tasks(by.stack, by.after);
            }
            // This thread may at the same time be a worker of another arena, or visit one: their state is kept here.
            const auto *const outer = std::exchange(this_thread().resume_requested, &by.stack.resume_requested);
            const auto *const polls_for = std::exchange(this_thread().polls_for, nullptr);
            workers::suspend_stack(by.stack, by.after);
            static_cast<void>(
                by.stack.resume_requested.load(std::memory_order_acquire)); // pairs with workers::resume()
            this_thread().resume_requested = outer;
            this_thread().polls_for = polls_for;
        },
        &asked);
}

// Of a worker. suspend_here() decrements `running_` and increments it again, so this thread counts as running a task.
void task_scheduler::suspend_outside_of_tasks(suspended &stack, const after_suspend &after) {
    lock_.lock();
    ++running_;
    lock_.unlock();
    suspend_here(stack, after);
    lock_.lock();
    --running_;
    tell_if_idle();
    call_if_needed_and_unlock();
}

void task_scheduler::suspend_here(suspended &stack, const after_suspend &after) {
    const thread_state state = this_thread();
    stack.resuming = &resuming_;
    lock_.lock();
    --running_;
    tell_if_idle();
    call_if_needed_and_unlock();
    this_thread().running = nullptr;
    this_thread().polls_for = nullptr;
    this_thread_stops();
    late_workers::suspended_stacks.fetch_add(1, std::memory_order_relaxed);
    late_workers::watch();
    workers::suspend_stack(stack, after);
    static_cast<void>(stack.resume_requested.load(std::memory_order_acquire)); // pairs with workers::resume()
    late_workers::suspended_stacks.fetch_sub(1, std::memory_order_relaxed);
    resumed_.fetch_add(1, std::memory_order_relaxed);
    resuming_.fetch_sub(1, std::memory_order_relaxed);
    lock_.lock();
    ++running_;
    lock_.unlock();
    this_thread().running = state.running;
    this_thread().polls_for = state.polls_for;
}

} // namespace thence::dataflow
