// SPDX-License-Identifier: BSD-3-Clause
// Threads and tasks that wait for other tasks: in taskwait, and in submit() when many tasks are not complete.
#include "dataflow/flow.hpp"

#include <limits>
#include <new>
#include <utility>

namespace thence::detail {

using dataflow::crew;
using dataflow::phase;
using dataflow::scope;
using dataflow::suspended;
using dataflow::task;
using dataflow::this_thread;

void flow_state::wake(scope &of) noexcept {
    suspended *waiting = nullptr;
    {
        const std::scoped_lock guard(of.lock);
        waiting = std::exchange(of.waiting, nullptr);
        of.open.fetch_and(~scope::waited_for, std::memory_order_relaxed);
    }
    while (waiting != nullptr)
        crew::resume(*std::exchange(waiting, waiting->next));
}

void flow_state::wait(scope &of) {
    const auto done = [](std::uint64_t open) { return scope::children(open) == 0; };
    while (!done(of.open.load(std::memory_order_acquire))) {
        const auto arrange = [](suspended &stack, void *data) {
            scope &on = *static_cast<scope *>(data);
            {
                const std::scoped_lock guard(on.lock);
                const std::uint64_t open = on.open.fetch_or(scope::waited_for, std::memory_order_acq_rel);
                if (scope::children(open) != 0) {
                    stack.next = std::exchange(on.waiting, &stack);
                    return;
                }
                if (on.waiting == nullptr)
                    on.open.fetch_and(~scope::waited_for, std::memory_order_relaxed);
            }
            crew::resume(stack);
        };
        task *const running = this_thread().running;
        suspended stack;
        (running == nullptr ? *this : *running->runs_in).crew_.suspend(stack, {arrange, &of});
    }
}

// The calling thread has submitted many tasks that are not complete. It waits until half of them are, or none runs: then it
// may be needed by the others.
void flow_state::throttle(scope &of) {
    task *const running = this_thread().running;
    if ((running != nullptr && running->runs_in != this) || crew_.is_idle())
        return;
    const auto arrange = [](suspended &, void *data) {
        throttled &waits = *static_cast<throttled *>(data);
        flow_state &self = waits.of.runs_in;
        const crew::guest stays(self.crew_); // also if the stack is resumed before this ends
        self.crew_.idle_waiters().fetch_add(1, std::memory_order_relaxed);
        std::uint64_t open = 0;
        {
            const std::scoped_lock guard(self.throttle_lock_);
            waits.next = std::exchange(self.throttled_, &waits);
            ++waits.of.throttled_threads;
            open = waits.of.open.fetch_or(scope::throttled, std::memory_order_acq_rel);
        }
        // From here on another thread may resume it.
        const bool idle = self.crew_.is_idle();
        if (idle || self.few_are_open(open))
            self.resume_throttled(idle);
    };
    throttled here{of};
    if (running != nullptr)
        running->enter(phase::throttled);
    crew_.suspend(here.stack, {arrange, &here});
    if (running != nullptr)
        running->enter(phase::runs);
}

// Resumes those of whose scope few children are open; if the crew is idle, all.
void flow_state::resume_throttled(bool idle) noexcept {
    throttled *resumed = nullptr;
    {
        const std::scoped_lock guard(throttle_lock_);
        for (throttled **link = &throttled_; *link != nullptr;) {
            throttled &one = **link;
            if (!idle && !few_are_open(one.of.open.load(std::memory_order_relaxed))) {
                link = &one.next;
                continue;
            }
            *link = one.next;
            one.next = std::exchange(resumed, &one);
            crew_.idle_waiters().fetch_sub(1, std::memory_order_relaxed);
            if (--one.of.throttled_threads == 0)
                one.of.open.fetch_and(~scope::throttled, std::memory_order_relaxed);
        }
    }
    while (resumed != nullptr)
        crew::resume(std::exchange(resumed, resumed->next)->stack);
}

void flow_state::wait_for_children() {
    scope &of = scope_here();
    task *const running = this_thread().running;
    if (running != nullptr)
        running->enter(phase::waits_for_children);
    wait(of);
    if (running != nullptr)
        running->enter(phase::runs);
    if (!of.failed.load(std::memory_order_relaxed)) [[likely]] {
        if (of.owner == nullptr) {
            const std::scoped_lock guard(of.lock);
            of.chains.trim();
        }
        return;
    }
    std::exception_ptr failure;
    {
        const std::scoped_lock guard(of.lock);
        failure = std::exchange(of.failure, nullptr);
        of.failed.store(false, std::memory_order_relaxed);
    }
    if (failure != nullptr)
        std::rethrow_exception(failure);
}

namespace {

// Of the task that wakes who waits for accesses. The second one to arrive lets the stack go on.
struct meeting {
    suspended stack;
    std::atomic<bool> one_is_here{false};

    void arrive() noexcept {
        if (one_is_here.exchange(true, std::memory_order_acq_rel))
            crew::resume(stack);
    }
};

constexpr task_body arrives{sizeof(meeting *), [](void *object) { (*static_cast<meeting **>(object))->arrive(); },
                            nullptr, nullptr};

} // namespace

void flow_state::wait_for(std::span<const access> accesses) {
    scope &of = scope_here();
    let_others_run(accesses, std::numeric_limits<int>::max());
    std::exception_ptr failure;
    if (of.failed.load(std::memory_order_relaxed)) {
        const std::scoped_lock guard(of.lock);
        failure = of.failure;
    }
    if (failure != nullptr)
        std::rethrow_exception(failure);
}

void flow_state::let_others_run(std::span<const access> accesses, int priority) {
    meeting met;
    task *const waits = prepare(arrives, accesses.size());
    waits->flags |= dataflow::runs_always | dataflow::wakes_waiter;
    new (waits->object) meeting *(&met);
    submit(*waits, accesses, {.priority = priority, .label = "taskwait"}, nullptr);
    task *const running = this_thread().running;
    (running == nullptr ? *this : *running->runs_in)
        .crew_.suspend(met.stack, {[](suspended &, void *data) { static_cast<meeting *>(data)->arrive(); }, &met});
}

} // namespace thence::detail
