// SPDX-License-Identifier: BSD-3-Clause
// An event that is set once and that any number of coroutines may await. set() resumes them in the order in which they
// began to wait, on the calling thread, so each should move to another thread at once.
// Invariant: `waiting_` is the list of waiting coroutines, the last one first, or the address of the event once it is
// set.
#pragma once

#include <atomic>
#include <coroutine>

namespace cholesky {

class one_shot_event {
    struct waiter {
        explicit waiter(one_shot_event &of) : event(of) {}
        bool await_ready() const noexcept { return event.is_set(); }
        bool await_suspend(std::coroutine_handle<> who) noexcept {
            coroutine = who;
            void *first = event.waiting_.load(std::memory_order_acquire);
            do {
                if (first == &event) {
                    return false;
                }
                next = static_cast<waiter *>(first);
            } while (!event.waiting_.compare_exchange_weak(first, this, std::memory_order_acq_rel));
            return true;
        }
        void await_resume() const noexcept {}

        one_shot_event &event;
        waiter *next = nullptr;
        std::coroutine_handle<> coroutine;
    };

public:
    bool is_set() const noexcept { return waiting_.load(std::memory_order_acquire) == this; }
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
            first = now->next; // resume() may destroy it
            now->coroutine.resume();
        }
    }

private:
    std::atomic<void *> waiting_{nullptr};
};

} // namespace cholesky
