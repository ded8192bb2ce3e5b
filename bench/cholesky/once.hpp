// SPDX-License-Identifier: BSD-3-Clause
// Something that happens once, and that any number of coroutines await. They go on inside set(), in the order in which
// they came, so each should go on elsewhere at once.
// Invariant: `waiting_` is the list of those who wait, the last first, or the event itself once it has happened.
#pragma once

#include <atomic>
#include <coroutine>

namespace cholesky {

class once {
    struct waiter {
        explicit waiter(once &of) : event(of) {}
        bool await_ready() const noexcept { return event.happened(); }
        bool await_suspend(std::coroutine_handle<> who) noexcept {
            coroutine = who;
            void *first = event.waiting_.load(std::memory_order_acquire);
            do {
                if (first == &event)
                    return false;
                next = static_cast<waiter *>(first);
            } while (!event.waiting_.compare_exchange_weak(first, this, std::memory_order_acq_rel));
            return true;
        }
        void await_resume() const noexcept {}

        once &event;
        waiter *next = nullptr;
        std::coroutine_handle<> coroutine;
    };

public:
    bool happened() const noexcept { return waiting_.load(std::memory_order_acquire) == this; }
    waiter operator co_await() noexcept { return waiter(*this); }
    void set() noexcept {
        auto *last = static_cast<waiter *>(waiting_.exchange(this, std::memory_order_acq_rel));
        waiter *first = nullptr;
        while (last != nullptr) {
            waiter *const before = last->next;
            last->next = first;
            first = last;
            last = before;
        }
        while (first != nullptr) {
            waiter *const now = first;
            first = now->next; // it is gone once its coroutine goes on
            now->coroutine.resume();
        }
    }

private:
    std::atomic<void *> waiting_{nullptr};
};

} // namespace cholesky
