// SPDX-License-Identifier: BSD-3-Clause
#include "tbb/pools/work_queue.hpp"

#include "tbb/pools/state.hpp"

#include <thence/detail/atomic.hpp>
#include <thence/senders/detail/continuation_requests.hpp>

#include <mutex>

namespace thence::detail {

void work_queue::push(pool_task &added, urgency how) {
    lock_.lock();
    (how == urgency::high ? urgent_ : waiting_).push(added);
    call_if_needed_and_unlock();
}

void work_queue::push_suspending(pool_task &added) {
    lock_.lock();
    suspending_.push(added);
    call_if_needed_and_unlock();
}

void work_queue::push_polling_task(pool_task &added, urgency how) noexcept {
    const std::scoped_lock guard(lock_);
    (how == urgency::high ? polling_urgent_ : polling_tasks_).push(added);
}

bool work_queue::push_to_poller(pool_task &added, urgency how) noexcept {
    thread_state &state = this_thread();
    if (state.queue != this || !state.polls) {
        return false;
    }
    (how == urgency::high ? state.found_urgent : state.found).push(added);
    return true;
}

void work_queue::begin_operation(urgency how) {
    if (how == urgency::high) [[unlikely]] {
        urgent_operations_.fetch_add(1, std::memory_order_relaxed);
    }
    if (operations_.fetch_add(1, std::memory_order_seq_cst) != 0) {
        return;
    }
    host_.began();
    if (this_thread().queue == this) {
        return; // it searches again after its task
    }
    lock_.lock();
    call_and_unlock_if(searching_ == 0);
}

void work_queue::end_operation(urgency how) noexcept {
    ++this_thread().completed;
    if (how == urgency::high) [[unlikely]] {
        urgent_operations_.fetch_sub(1, std::memory_order_relaxed);
    }
    operations_.fetch_sub(1, std::memory_order_release);
}

void work_queue::wait_for_poll_end() noexcept {
    for (spin_wait wait;; wait()) {
        {
            const std::scoped_lock guard(lock_);
            if (!polling_ || operations() > 0) {
                return;
            }
        }
    }
}

void work_queue::ensure_searching_worker() {
    lock_.lock();
    call_and_unlock_if(searching_workers_ == 0);
}

void work_queue::clear_thread_state() noexcept {
    static_cast<thread_position &>(this_thread()) = {};
}

bool work_queue::busy() noexcept {
    const std::scoped_lock guard(lock_);
    return has_task() || !suspending_.empty() || operations() > 0;
}

void work_queue::resumed(urgency how) noexcept {
    this_thread().resumed = true;
    if (how == urgency::high) {
        resuming_urgent_tasks_.fetch_sub(1, std::memory_order_relaxed);
    }
    resuming_tasks_.fetch_sub(1, std::memory_order_relaxed);
}

bool work_queue::check_stalled() {
    lock_.lock();
    const bool stalled = (tasks_begun_ == tasks_begun_before_ && (has_task() || !suspending_.empty())) ||
                         (polls_ == polls_before_ && operations() > 0);
    tasks_begun_before_ = tasks_begun_;
    polls_before_ = polls_;
    call_and_unlock_if(stalled);
    return stalled;
}

unsigned long work_queue::poll_activity() noexcept {
    const std::scoped_lock guard(lock_);
    return polls_ + completed_in_polls_;
}

bool work_queue::begin_nested() noexcept {
    thread_state &state = this_thread();
    if (state.queue != this || state.polls || state.nesting >= max_nesting) {
        return false;
    }
    ++state.nesting;
    return true;
}

void work_queue::end_nested() noexcept {
    --this_thread().nesting;
}

inline work_queue::runner::runner(const work_queue &queue, const wait_condition *waits_for, bool one_round)
    : end(waits_for), outer(this_thread()), at_least_one_round(one_round && outer.queue == nullptr && !outer.resumed) {
    worker = end == nullptr || (outer.queue == &queue && outer.worker);
}

// Without workers no other thread may run the tasks that are ready, so this one runs them before it returns.
inline bool work_queue::goes_on(const runner &self) const noexcept {
    return self.end == nullptr || self.at_least_one_round || (!has_workers_ && self.in_a_row != 0 && has_task()) ||
           !self.end->holds();
}

// Whether a poll goes before the next task.
inline bool work_queue::poll_is_next(const runner &self) const noexcept {
    return self.since_poll != 0 && self.after_other && !polling_ && urgent_.empty() &&
           urgent_operations_.load(std::memory_order_relaxed) > 0;
}

inline pool_task *work_queue::take(runner &self) noexcept {
    self.poll_goes_first = poll_is_next(self);
    if (self.poll_goes_first || self.since_poll >= tasks_between_polls) {
        return nullptr;
    }
    pool_task *taken = urgent_.pop();
    if (taken == nullptr) {
        taken = self.worker ? suspending_.pop() : nullptr;
        taken = taken != nullptr ? taken : waiting_.pop();
        self.after_other = self.after_other || taken != nullptr;
    }
    tasks_begun_ += taken != nullptr ? 1 : 0;
    return taken;
}

inline void work_queue::run(runner &self, pool_task &task) noexcept {
    static_cast<thread_position &>(this_thread()) = {this, self.worker};
    task.run(&task);
}

inline bool work_queue::ran(runner &self) noexcept {
    thence_backoff_found(&self.backoff);
    self.since_poll += polling_ ? 0 : 1;
    if (++self.in_a_row >= tasks_in_a_row ||
        (self.worker && resuming_urgent_tasks_.load(std::memory_order_relaxed) > 0)) {
        self.in_a_row = 0;
        if (self.at_least_one_round) {
            self.since_poll = tasks_between_polls; // the round ends with a poll
        }
        yield(self, false);
    }
    return true;
}

bool work_queue::search(runner &self) noexcept {
    if (!polling_ && should_poll(self)) {
        poll(self);
    } else if (self.since_poll != 0) { // there is nothing to poll for, or another runner polls
        self.since_poll = 0;
        self.after_other = self.at_least_one_round = false;
    } else if (self.end == nullptr) {
        return false;
    } else if (self.at_least_one_round) {
        self.at_least_one_round = false;
    } else {
        yield(self, true);
    }
    return true;
}

// A runner that waits for a condition may leave while operations are outstanding.
inline bool work_queue::leaves(const runner &self) noexcept {
    if (self.end != nullptr) {
        waiting_runners_.fetch_sub(1, std::memory_order_relaxed);
    }
    static_cast<thread_position &>(this_thread()) = self.outer;
    return searching_ == 0 && operations() > 0;
}

inline bool work_queue::should_poll(const runner &self) noexcept {
    return operations() > 0 || (self.end != nullptr && host_.polls_for_waiting());
}

void work_queue::poll(runner &self) noexcept {
    self.since_poll = 0;
    self.after_other = false;
    if (poll_and_lock()) {
        thence_backoff_found(&self.backoff);
        // If tasks remain, other tasks of the scheduler run after enough of them. What a round finds belongs to it.
        if (!self.poll_goes_first) {
            self.in_a_row = self.at_least_one_round ? 1 : 0;
        }
    } else if (!self.at_least_one_round && ++self.in_a_row >= polls_in_a_row) {
        self.in_a_row = 0;
        yield(self, true);
    }
    self.at_least_one_round = false;
    if (resuming_tasks_.load(std::memory_order_relaxed) > 0) {
        yield(self, false);
    }
}

void work_queue::yield(runner &self, bool pause) noexcept {
    pause_search(self, [&] {
        if (self.worker) {
            clear_thread_state();
            host_.yield();
        }
        if (pause) {
            thence_backoff_pause(&self.backoff);
        }
    });
}

void work_queue::run_as_worker() noexcept {
    loop::run_as_worker();
}

void work_queue::run_until(const wait_condition &condition, bool at_least_one_round) noexcept {
    if (waiting_runners_.fetch_add(1, std::memory_order_seq_cst) == 0) {
        host_.began();
    }
    lock_.lock();
    runner self(*this, &condition, at_least_one_round);
    run_and_unlock(self);
}

void work_queue::run_polling_tasks(pool_task *first) noexcept {
    while (first != nullptr) {
        pool_task *const task = first;
        first = task->next; // it may push itself again, or be destroyed
        task->run(task);
    }
}

bool work_queue::poll_and_lock() noexcept {
    pool_task *urgent = polling_urgent_.take();
    pool_task *rest = polling_tasks_.take();
    polling_ = true;
    lock_.unlock();
    thread_state &state = this_thread();
    const unsigned long completed_before = state.completed;
    state.queue = this;
    state.polls = true;
    run_polling_tasks(urgent);
    const bool found_some = host_.progress();
    run_polling_tasks(rest);
    state.polls = false;
    lock_.lock();
    polling_ = false;
    ++polls_;
    completed_in_polls_ += state.completed - completed_before;
    while (pool_task *const found = state.found_urgent.pop()) {
        urgent_.push(*found);
    }
    while (pool_task *const found = state.found.pop()) {
        waiting_.push(*found);
    }
    return found_some || has_task() ||
           state.completed != completed_before; // operations() may be unchanged: it counts new ones
}

} // namespace thence::detail

// The functions on queues, of those that the headers of pools call (thence/pools/detail/exports.hpp).
// `implementation_of(pools).queue(where)` is the queue of the workers, or that of the MPI pool.
namespace thence::libthence_pools {

using detail::pool_queue;
using detail::pool_task;
using detail::pools_state;
using detail::urgency;

void push(pools_state &pools, pool_queue where, pool_task &task, urgency how) noexcept {
    detail::work_queue &queue = implementation_of(pools).queue(where);
    if (!queue.push_to_poller(task, how)) {
        queue.push(task, how);
    }
}
void push_suspending(pools_state &pools, pool_task &task) noexcept {
    implementation_of(pools).queue(pool_queue::workers).push_suspending(task);
}
void push_polling_task(pools_state &pools, pool_queue where, pool_task &task, urgency how) noexcept {
    implementation_of(pools).queue(where).push_polling_task(task, how);
}
void bypass(pools_state &pools, pool_task &task, void (*in_arena)(pool_task *) noexcept) noexcept {
    detail::work_queue &workers = implementation_of(pools).queue(pool_queue::workers);
    if (workers.run_nested([&] { task.run(&task); })) {
        return;
    }
    // In a callback the task runs after it:
    //  - on a thread that polls for the workers, as its next task;
    //  - on the thread of the MPI pool, as its next task, in the arena of the workers;
    //  - else on a worker.
    if (detail::completing == 0) {
        pools.arena->execute([&] { task.run(&task); });
    } else if (auto *const run = task.run; !workers.push_to_poller(task, urgency::high)) {
        task.run = in_arena;
        if (!implementation_of(pools).queue(pool_queue::mpi).push_to_poller(task, urgency::high)) {
            task.run = run;
            workers.push(task, urgency::high);
        }
    }
}

void begin_operation(pools_state &pools, pool_queue where, urgency how) noexcept {
    implementation_of(pools).queue(where).begin_operation(how);
}
void end_operation(pools_state &pools, pool_queue where, urgency how) noexcept {
    implementation_of(pools).queue(where).end_operation(how);
}
bool begin_nested(pools_state &pools, pool_queue where) noexcept {
    return implementation_of(pools).queue(where).begin_nested();
}
void end_nested() noexcept {
    detail::work_queue::end_nested();
}

} // namespace thence::libthence_pools
