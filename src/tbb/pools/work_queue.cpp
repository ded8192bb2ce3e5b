// SPDX-License-Identifier: BSD-3-Clause
#include "tbb/pools/work_queue.hpp"

#include "tbb/pools/state.hpp"

#include <thence/backoff.h>
#include <thence/detail/atomic.hpp>
#include <thence/senders/detail/continuation_requests.hpp>

#include <mutex>

namespace thence::detail {

work_queue::~work_queue() {
    for (spin_wait wait;; wait()) {
        {
            const std::scoped_lock guard(lock_);
            if (runners_ == 0 && called_ == 0 && calling_.load(std::memory_order_acquire) == 0) {
                return;
            }
        }
    }
}

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
    call_if_needed_and_unlock();
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
    if (searching_workers_ == 0 && called_ == 0) {
        call_and_unlock();
    } else {
        lock_.unlock();
    }
}

void work_queue::clear_thread_state() noexcept {
    thread_state &state = this_thread();
    state.queue = nullptr;
    state.worker = false;
    state.resumed = false;
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
    if (stalled && called_ == 0) {
        call_and_unlock();
    } else {
        lock_.unlock();
    }
    return stalled;
}

unsigned long work_queue::poll_activity() noexcept {
    const std::scoped_lock guard(lock_);
    return polls_ + completed_in_polls_;
}

void work_queue::run_as_worker() noexcept {
    lock_.lock();
    --called_;
    run(nullptr);
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
    if (pool_task *const first = urgent_.pop()) {
        return first;
    }
    if (worker) {
        if (pool_task *const first = suspending_.pop()) {
            return first;
        }
    }
    return waiting_.pop();
}

void work_queue::call_if_needed_and_unlock() {
    if (called_ == 0 && (searching_ == 0 || (searching_workers_ == 0 && !suspending_.empty()))) {
        call_and_unlock();
    } else {
        lock_.unlock();
    }
}

void work_queue::call_and_unlock() {
    if (no_workers_) {
        return lock_.unlock();
    }
    ++called_;
    calling_.fetch_add(1, std::memory_order_relaxed);
    lock_.unlock();
    if (!host_.call()) {
        const std::scoped_lock guard(lock_);
        --called_;
    }
    calling_.fetch_sub(1, std::memory_order_release);
}

void work_queue::run_until(const wait_condition &condition, bool at_least_one_round) noexcept {
    if (waiting_runners_.fetch_add(1, std::memory_order_seq_cst) == 0) {
        host_.began();
    }
    lock_.lock();
    run(&condition, at_least_one_round);
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

// Runs `action` without the lock. The runner does not search meanwhile.
template <class Action> void work_queue::pause_search(bool worker, Action &&action) noexcept {
    change_searching(worker, -1);
    if (has_task() || !suspending_.empty()) {
        call_if_needed_and_unlock();
    } else {
        lock_.unlock();
    }
    action();
    lock_.lock();
    change_searching(worker, 1);
}

void work_queue::run(const wait_condition *end, bool at_least_one_round) noexcept {
    const work_queue *const outer = this_thread().queue;
    const bool outer_worker = this_thread().worker;
    const bool outer_resumed = this_thread().resumed;
    // A worker may take tasks that suspend its stack, and yields to other tasks of its scheduler.
    const bool worker = end == nullptr || (outer == this && outer_worker);
    at_least_one_round = at_least_one_round && outer == nullptr && !outer_resumed;
    ++runners_;
    change_searching(worker, 1);
    thence_backoff backoff = THENCE_BACKOFF_INIT;
    int in_a_row = 0;
    int since_poll = 0;
    bool after_other = false; // since the last poll a task ran that was not urgent
    // Without workers no other thread may run the tasks that are ready, so this one runs them before it returns.
    while (end == nullptr || at_least_one_round || (no_workers_ && in_a_row != 0 && has_task()) || !end->holds()) {
        const bool early = poll_is_next(since_poll, after_other);
        const bool urgent = !urgent_.empty();
        pool_task *const task = early || since_poll >= tasks_between_polls ? nullptr : take(worker);
        if (task != nullptr) {
            run_and_lock(worker, *task);
            thence_backoff_found(&backoff);
            since_poll += polling_ ? 0 : 1;
            after_other = after_other || !urgent;
            if (++in_a_row >= tasks_in_a_row ||
                (worker && resuming_urgent_tasks_.load(std::memory_order_relaxed) > 0)) {
                in_a_row = 0;
                if (at_least_one_round) {
                    since_poll = tasks_between_polls; // the round ends with a poll
                }
                pause_search(worker, [&] { yield(worker); });
            }
        } else if (since_poll != 0 && (polling_ || !should_poll(end))) {
            since_poll = 0; // there is nothing to poll for, or another runner polls
            after_other = false;
            at_least_one_round = false;
        } else if (!polling_ && should_poll(end)) {
            since_poll = 0;
            after_other = false;
            if (poll_and_lock()) {
                thence_backoff_found(&backoff);
                if (!early) { // else tasks remain, and after enough of them other tasks of the scheduler run
                    in_a_row = at_least_one_round ? 1 : 0; // the tasks that it has found belong to that round
                }
            } else if (!at_least_one_round && ++in_a_row >= polls_in_a_row) {
                in_a_row = 0;
                pause_search(worker, [&] {
                    yield(worker);
                    thence_backoff_pause(&backoff);
                });
            }
            at_least_one_round = false;
            if (resuming_tasks_.load(std::memory_order_relaxed) > 0) {
                pause_search(worker, [&] { yield(worker); });
            }
        } else if (end == nullptr) {
            break;
        } else if (at_least_one_round) {
            at_least_one_round = false; // another runner polls, or there is nothing to poll for
        } else {
            pause_search(worker, [&] {
                yield(worker);
                thence_backoff_pause(&backoff);
            });
        }
    }
    change_searching(worker, -1);
    --runners_;
    if (end != nullptr) {
        waiting_runners_.fetch_sub(1, std::memory_order_relaxed);
    }
    this_thread().queue = outer;
    this_thread().worker = outer_worker;
    this_thread().resumed = outer_resumed;
    // A runner that waits for a condition may leave while there is work.
    if (end != nullptr && (has_task() || !suspending_.empty() || operations() > 0)) {
        call_if_needed_and_unlock();
    } else {
        lock_.unlock();
    }
}

bool work_queue::should_poll(const wait_condition *end) noexcept {
    return operations() > 0 || (end != nullptr && host_.polls_for_waiting());
}

bool work_queue::poll_is_next(int tasks_since_poll, bool after_other) const noexcept {
    return tasks_since_poll != 0 && after_other && !polling_ && urgent_.empty() &&
           urgent_operations_.load(std::memory_order_relaxed) > 0;
}

void work_queue::yield(bool worker) noexcept {
    if (!worker) {
        return;
    }
    clear_thread_state();
    host_.yield();
}

void work_queue::change_searching(bool worker, int by) noexcept {
    searching_ += by;
    if (worker) {
        searching_workers_ += by;
    }
}

void work_queue::run_and_lock(bool worker, pool_task &task) noexcept {
    ++tasks_begun_;
    pause_search(worker, [&] {
        thread_state &state = this_thread();
        state.queue = this;
        state.worker = worker;
        state.resumed = false;
        state.nesting = 0;
        task.run(&task);
    });
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
using detail::pools_implementation;
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
