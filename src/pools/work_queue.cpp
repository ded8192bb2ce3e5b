// SPDX-License-Identifier: BSD-3-Clause
#include "pools/work_queue.hpp"

#include <thence/detail/pause.hpp>

#include <mutex>
#include <thread>

namespace thence::detail {

work_queue::~work_queue() {
    for (;;) {
        {
            const std::scoped_lock guard(lock_);
            if (inside_ == 0 && coming_ == 0 && calling_.load(std::memory_order_acquire) == 0)
                return;
        }
        std::this_thread::yield();
    }
}

void work_queue::push(pool_task &added, urgency how) {
    lock_.lock();
    (how == urgency::high ? urgent_ : waiting_).push(added);
    call_and_unlock();
}

void work_queue::push_suspending(pool_task &added) {
    lock_.lock();
    suspending_.push(added);
    call_and_unlock();
}

void work_queue::push_again(pool_task &added) noexcept {
    const std::scoped_lock guard(lock_);
    again_.push(added);
}

bool work_queue::push_to_poller(pool_task &added, urgency how) noexcept {
    thread_state &here = this_thread();
    if (here.queue != this || !here.polls)
        return false;
    (how == urgency::high ? here.found_urgent : here.found).push(added);
    return true;
}

void work_queue::begin_operation() {
    if (operations_.fetch_add(1, std::memory_order_seq_cst) != 0)
        return;
    host_.began();
    if (this_thread().queue == this)
        return; // it will look
    lock_.lock();
    call_and_unlock();
}

void work_queue::end_operation() noexcept {
    ++this_thread().ended;
    operations_.fetch_sub(1, std::memory_order_release);
}

void work_queue::let_poll_end() noexcept {
    for (;;) {
        {
            const std::scoped_lock guard(lock_);
            if (!polling_ || operations() > 0)
                return;
        }
        std::this_thread::yield();
    }
}

void work_queue::call_another() {
    lock_.lock();
    if (workers_looking_ == 0 && coming_ == 0)
        call_even_if_looking();
    else
        lock_.unlock();
}

void work_queue::leave_thread() noexcept {
    thread_state &here = this_thread();
    here.queue = nullptr;
    here.worker = false;
    here.resumed = false;
}

bool work_queue::busy() noexcept {
    const std::scoped_lock guard(lock_);
    return has_task() || !suspending_.empty() || operations() > 0;
}

void work_queue::resumed() noexcept {
    this_thread().resumed = true;
    returning_.fetch_sub(1, std::memory_order_relaxed);
}

bool work_queue::stuck() {
    lock_.lock();
    const bool idle = (begun_ == begun_before_ && (has_task() || !suspending_.empty())) ||
                      (polls_ == polls_before_ && operations() > 0);
    begun_before_ = begun_;
    polls_before_ = polls_;
    if (idle && coming_ == 0) {
        call_even_if_looking();
    } else {
        lock_.unlock();
    }
    return idle;
}

unsigned long work_queue::signs_of_polls() noexcept {
    const std::scoped_lock guard(lock_);
    return polls_ + ended_in_polls_;
}

void work_queue::drain_called() noexcept {
    lock_.lock();
    --coming_;
    drain(nullptr);
}

work_queue::thread_state &work_queue::this_thread() noexcept {
    static constinit thread_local thread_state state;
    asm volatile("");
    return state;
}

bool work_queue::has_task() const noexcept {
    return !urgent_.empty() || !waiting_.empty();
}

pool_task *work_queue::take(bool worker) noexcept {
    if (pool_task *const first = urgent_.pop())
        return first;
    if (worker)
        if (pool_task *const first = suspending_.pop())
            return first;
    return waiting_.pop();
}

void work_queue::call_and_unlock() {
    if (coming_ == 0 && (looking_ == 0 || (workers_looking_ == 0 && !suspending_.empty())))
        call_even_if_looking();
    else
        lock_.unlock();
}

void work_queue::call_even_if_looking() {
    if (alone_)
        return lock_.unlock();
    ++coming_;
    calling_.fetch_add(1, std::memory_order_relaxed);
    lock_.unlock();
    if (!host_.call()) {
        const std::scoped_lock guard(lock_);
        --coming_;
    }
    calling_.fetch_sub(1, std::memory_order_release);
}

void work_queue::drain_until(const until &met, bool round_first) noexcept {
    if (waiting_drainers_.fetch_add(1, std::memory_order_seq_cst) == 0)
        host_.began();
    lock_.lock();
    drain(&met, round_first);
}

bool work_queue::begin_part() noexcept {
    thread_state &here = this_thread();
    if (here.queue != this || here.polls || here.depth >= deepest)
        return false;
    ++here.depth;
    return true;
}

void work_queue::end_part() noexcept {
    --this_thread().depth;
}

// Enters locked.
void work_queue::drain(const until *end, bool round_first) noexcept {
    const work_queue *const outer = this_thread().queue;
    const bool outer_worker = this_thread().worker;
    const bool outer_resumed = this_thread().resumed;
    // Its stack may be suspended, and it lets others go first.
    const bool worker = end == nullptr || (outer == this && outer_worker);
    round_first = round_first && outer == nullptr && !outer_resumed;
    ++inside_;
    looks(worker, 1);
    detail::poll_backoff backoff;
    int in_a_row = 0;
    int since_poll = 0;
    // Where nobody else would run them, what is at hand goes before what the thread came from.
    while (end == nullptr || round_first || (alone_ && in_a_row != 0 && has_task()) || !*end) {
        pool_task *const task = since_poll < tasks_between_polls ? take(worker) : nullptr;
        if (task != nullptr) {
            run_and_lock(worker, *task);
            backoff.reset();
            since_poll += polling_ ? 0 : 1;
            if (++in_a_row >= tasks_in_a_row) {
                in_a_row = 0;
                if (round_first)
                    since_poll = tasks_between_polls; // its end: poll, if that is to be done
                away(worker, [&] { yield(worker); });
            }
        } else if (since_poll != 0 && (polling_ || !to_poll_for(end))) {
            since_poll = 0; // nothing to poll for, or another one does
            round_first = false;
        } else if (!polling_ && to_poll_for(end)) {
            since_poll = 0;
            if (poll_and_lock()) {
                backoff.reset();
                in_a_row = round_first ? 1 : 0; // what it has found belongs to that round
            } else if (!round_first && ++in_a_row >= polls_in_a_row) {
                in_a_row = 0;
                away(worker, [&] {
                    yield(worker);
                    backoff.pause();
                });
            }
            round_first = false;
            if (returning_.load(std::memory_order_relaxed) > 0)
                away(worker, [&] { yield(worker); });
        } else if (end == nullptr) {
            break;
        } else if (round_first) {
            round_first = false; // others poll, or there is nothing to poll for
        } else {
            away(worker, [&] {
                yield(worker);
                backoff.pause();
            });
        }
    }
    looks(worker, -1);
    --inside_;
    if (end != nullptr)
        waiting_drainers_.fetch_sub(1, std::memory_order_relaxed);
    this_thread().queue = outer;
    this_thread().worker = outer_worker;
    this_thread().resumed = outer_resumed;
    // One that came by itself may leave work behind.
    if (end != nullptr && (has_task() || !suspending_.empty() || operations() > 0))
        call_and_unlock();
    else
        lock_.unlock();
}

bool work_queue::to_poll_for(const until *end) noexcept {
    return operations() > 0 || (end != nullptr && host_.polls_for_waiting());
}

void work_queue::yield(bool worker) noexcept {
    if (!worker)
        return;
    leave_thread();
    host_.yield();
}

void work_queue::looks(bool worker, int more) noexcept {
    looking_ += more;
    if (worker)
        workers_looking_ += more;
}

void work_queue::run_and_lock(bool worker, pool_task &task) noexcept {
    ++begun_;
    away(worker, [&] {
        thread_state &here = this_thread();
        here.queue = this;
        here.worker = worker;
        here.resumed = false;
        here.depth = 0;
        task.run(&task);
    });
}

bool work_queue::poll_and_lock() noexcept {
    pool_task *again = again_.take();
    polling_ = true;
    lock_.unlock();
    thread_state &here = this_thread();
    const unsigned long ended = here.ended;
    here.queue = this;
    here.polls = true;
    const bool found_some = host_.progress();
    while (again != nullptr) {
        pool_task *const now = again;
        again = now->next; // it may be pushed again, or be gone
        now->run(now);
    }
    here.polls = false;
    lock_.lock();
    polling_ = false;
    ++polls_;
    ended_in_polls_ += here.ended - ended;
    while (pool_task *const found = here.found_urgent.pop())
        urgent_.push(*found);
    while (pool_task *const found = here.found.pop())
        waiting_.push(*found);
    return found_some || has_task() || here.ended != ended; // what follows inline may have begun as many
}

} // namespace thence::detail
