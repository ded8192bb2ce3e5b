// SPDX-License-Identifier: BSD-3-Clause
// Threads and tasks that wait: in taskwait, and in submit() while too many tasks are open.
#include "dataflow/flow.hpp"

#include <limits>
#include <new>
#include <utility>

namespace thence::detail {

using dataflow::phase;
using dataflow::scope;
using dataflow::suspended;
using dataflow::task;
using dataflow::task_scheduler;
using dataflow::this_thread;

void flow_state::wake(scope &children) noexcept {
    suspended *waiting = nullptr;
    {
        const std::scoped_lock guard(children.lock);
        waiting = std::exchange(children.waiting, nullptr);
        children.open.fetch_and(~scope::waited_for, std::memory_order_relaxed);
    }
    while (waiting != nullptr) {
        workers::resume(*std::exchange(waiting, waiting->next));
    }
}

void flow_state::wait(scope &children) {
    const auto done = [](std::uint64_t open) { return scope::open_children(open) == 0; };
    while (!done(children.open.load(std::memory_order_acquire))) {
        const auto list_waiter = [](suspended &stack, void *data) {
            scope &on = *static_cast<scope *>(data);
            {
                const std::scoped_lock guard(on.lock);
                const std::uint64_t open = on.open.fetch_or(scope::waited_for, std::memory_order_acq_rel);
                if (scope::open_children(open) != 0) {
                    stack.next = std::exchange(on.waiting, &stack);
                    return;
                }
                if (on.waiting == nullptr) {
                    on.open.fetch_and(~scope::waited_for, std::memory_order_relaxed);
                }
            }
            workers::resume(stack);
        };
        task *const running = this_thread().running;
        suspended stack;
        (running == nullptr ? *this : *running->runs_in).scheduler_.suspend(stack, {list_waiter, &children});
    }
}

// Waits until half of the allowed tasks are open, or the scheduler is idle: then the open tasks may depend on the
// caller.
void flow_state::throttle(scope &children) {
    task *const running = this_thread().running;
    if ((running != nullptr && running->runs_in != this) || scheduler_.is_idle()) {
        return;
    }
    const auto list_throttled = [](suspended &, void *data) {
        throttled &waits = *static_cast<throttled *>(data);
        flow_state &flow = waits.children.runs_in;
        const task_scheduler::keep_alive stays(flow.scheduler_); // the flow may end when the stack is resumed
        flow.scheduler_.idle_waiters().fetch_add(1, std::memory_order_relaxed);
        std::uint64_t open = 0;
        {
            const std::scoped_lock guard(flow.throttle_lock_);
            waits.next = std::exchange(flow.throttled_, &waits);
            ++waits.children.throttled_threads;
            open = waits.children.open.fetch_or(scope::throttled, std::memory_order_acq_rel);
        }
        // From here on another thread may resume the stack, which destroys `waits`.
        const bool idle = flow.scheduler_.is_idle();
        if (idle || flow.few_are_open(open)) {
            flow.resume_throttled(idle);
        } else {
            submits_that_slept_.fetch_add(1, std::memory_order_relaxed);
        }
    };
    throttled self{children};
    if (running != nullptr) {
        running->enter(phase::throttled);
    }
    scheduler_.suspend(self.stack, {list_throttled, &self});
    if (running != nullptr) {
        running->enter(phase::runs);
    }
}

// Resumes all throttled threads if the scheduler is idle, else those whose scope has few open children.
void flow_state::resume_throttled(bool idle) noexcept {
    throttled *resumed = nullptr;
    {
        const std::scoped_lock guard(throttle_lock_);
        for (throttled **link = &throttled_; *link != nullptr;) {
            throttled &one = **link;
            if (!idle && !few_are_open(one.children.open.load(std::memory_order_relaxed))) {
                link = &one.next;
                continue;
            }
            *link = one.next;
            one.next = std::exchange(resumed, &one);
            scheduler_.idle_waiters().fetch_sub(1, std::memory_order_relaxed);
            if (--one.children.throttled_threads == 0) {
                one.children.open.fetch_and(~scope::throttled, std::memory_order_relaxed);
            }
        }
    }
    while (resumed != nullptr) {
        workers::resume(std::exchange(resumed, resumed->next)->stack);
    }
}

void flow_state::wait_for_children() {
    scope &children = current_scope();
    task *const running = this_thread().running;
    if (running != nullptr) {
        running->enter(phase::waits_for_children);
    }
    wait(children);
    if (running != nullptr) {
        running->enter(phase::runs);
    }
    if (!children.failed.load(std::memory_order_relaxed)) [[likely]] {
        if (children.owner == nullptr) {
            const std::scoped_lock guard(children.lock);
            children.chains.trim();
        }
        return;
    }
    std::exception_ptr failure;
    {
        const std::scoped_lock guard(children.lock);
        failure = std::exchange(children.failure, nullptr);
        children.failed.store(false, std::memory_order_relaxed);
    }
    if (failure != nullptr) {
        std::rethrow_exception(failure);
    }
}

namespace {

// Resumes a stack. one_done() is called twice, in any order: once the stack is suspended, and once the task that waits
// for the accesses has run. The second call resumes it.
struct resume_after_both {
    suspended stack;
    std::atomic<bool> one_is_done{false};

    void one_done() noexcept {
        if (one_is_done.exchange(true, std::memory_order_acq_rel)) {
            workers::resume(stack);
        }
    }
};

constexpr task_body calls_one_done{sizeof(resume_after_both *),
                                   [](void *object) { (*static_cast<resume_after_both **>(object))->one_done(); },
                                   nullptr, nullptr};

} // namespace

void flow_state::wait_for(std::span<const access> accesses) {
    scope &children = current_scope();
    let_others_run(accesses, std::numeric_limits<int>::max());
    std::exception_ptr failure;
    if (children.failed.load(std::memory_order_relaxed)) {
        const std::scoped_lock guard(children.lock);
        failure = children.failure;
    }
    if (failure != nullptr) {
        std::rethrow_exception(failure);
    }
}

// Submits a task with these accesses whose body resumes the calling stack, which is suspended meanwhile.
void flow_state::let_others_run(std::span<const access> accesses, int priority) {
    resume_after_both both;
    task *const waits = prepare(calls_one_done, accesses.size());
    waits->flags |= dataflow::runs_always | dataflow::wakes_waiter;
    new (waits->object) resume_after_both *(&both);
    submit(*waits, accesses, {.priority = priority, .label = "taskwait"}, nullptr);
    task *const running = this_thread().running;
    (running == nullptr ? *this : *running->runs_in)
        .scheduler_.suspend(
            both.stack, {[](suspended &, void *data) { static_cast<resume_after_both *>(data)->one_done(); }, &both});
}

} // namespace thence::detail
