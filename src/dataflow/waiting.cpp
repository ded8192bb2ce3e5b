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
    const auto done = [](std::uint64_t open) { return open / scope::child == 1; };
    while (!done(of.open.load(std::memory_order_acquire))) {
        const auto arrange = [](suspended &stack, void *data) {
            scope &on = *static_cast<scope *>(data);
            {
                const std::scoped_lock guard(on.lock);
                const std::uint64_t open = on.open.fetch_or(scope::waited_for, std::memory_order_acq_rel);
                if (open / scope::child != 1) {
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
        throttled &asked = *static_cast<throttled *>(data);
        flow_state &self = asked.of.runs_in;
        const crew::guest stays(self.crew_); // also if the stack is resumed before this ends
        self.crew_.watched().fetch_add(1, std::memory_order_relaxed);
        {
            const std::scoped_lock guard(self.throttle_lock_);
            asked.next = std::exchange(self.throttled_, &asked);
        }
        self.end_throttle(self.crew_.is_idle());
    };
    throttled here{of};
    crew_.suspend(here.stack, {arrange, &here});
}

// Lets those go on that few enough children are left for; if the crew is idle, all.
void flow_state::end_throttle(bool idle) noexcept {
    throttled *ended = nullptr;
    {
        const std::scoped_lock guard(throttle_lock_);
        for (throttled **link = &throttled_; *link != nullptr;) {
            throttled &one = **link;
            if (idle || one.of.open.load(std::memory_order_relaxed) / scope::child <= most_open_ / 2) {
                *link = one.next;
                one.next = std::exchange(ended, &one);
                crew_.watched().fetch_sub(1, std::memory_order_relaxed);
            } else {
                link = &one.next;
            }
        }
    }
    while (ended != nullptr)
        crew::resume(std::exchange(ended, ended->next)->stack);
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
