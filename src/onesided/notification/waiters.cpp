// SPDX-License-Identifier: BSD-3-Clause
#include "onesided/notification/waiters.hpp"

#include <exception>
#include <mutex>

namespace thence::notification {

void waiters::watch(slots watched) noexcept {
    const std::scoped_lock guard(lock_);
    slots_ = watched;
    oldest_.clear();
    has_room_.store(false, std::memory_order_release);
}

bool waiters::forget() noexcept {
    const std::scoped_lock guard(lock_);
    if (any()) {
        return false;
    }
    slots_ = slots();
    oldest_.clear();
    has_room_.store(false, std::memory_order_release);
    return true;
}

bool waiters::make_lists() noexcept {
    const std::scoped_lock guard(lock_);
    try {
        oldest_.resize(slots_.count(), nullptr);
        has_room_.store(true, std::memory_order_release);
        return true;
    } catch (const std::exception &) {
        return false;
    }
}

// With the lock.
void waiters::serve(unsigned i, std::uint32_t value, arrived_list &ready) noexcept {
    missed &served = *oldest_[i];
    oldest_[i] = served.next;
    if (served.value != nullptr) {
        *served.value = value;
    }
    waiter &w = *served.owner;
    if (--w.missing != 0) {
        return;
    }
    if (waiting_.fetch_sub(1, std::memory_order_relaxed) == 1) {
        slots_.disarm();
    }
    ready.add(w);
}

waiters::result waiters::add(waiter &added, unsigned first, unsigned count, std::uint32_t *values,
                             arrived_list &others) noexcept {
    const std::scoped_lock guard(lock_);
    if (first > oldest_.size() || count > oldest_.size() - first) {
        return result::no_such;
    }
    if (count == 1 && oldest_[first] == nullptr) { // the common case needs no list if it has arrived
        if (const std::uint32_t value = slots_.take(first); value != 0) {
            if (values != nullptr) {
                *values = value;
            }
            return result::all_here;
        }
    }
    added.missing = count;
    for (unsigned k = 0; k < count; ++k) {
        missed &one = count == 1 ? added.one : added.many[k];
        one.next = nullptr;
        one.owner = &added;
        one.value = values != nullptr ? values + k : nullptr;
        missed **end = &oldest_[first + k];
        while (*end != nullptr) {
            end = &(*end)->next;
        }
        *end = &one;
    }
    waiting_.fetch_add(1, std::memory_order_relaxed);
    slots_.arm();
    arrived_list served;
    for (unsigned i = first; i != first + count; ++i) {
        while (oldest_[i] != nullptr) {
            const std::uint32_t value = slots_.take_after_arming(i);
            if (value == 0) {
                break;
            }
            serve(i, value, served);
        }
    }
    bool itself = false;
    while (waiter *const each = served.pop()) {
        itself = itself || each == &added;
        if (each != &added) {
            others.add(*each);
        }
    }
    return itself ? result::all_here : result::waits;
}

// The memory may go as soon as nobody waits, so it is not looked at without the lock.
bool waiters::may_have_arrived() noexcept {
    if (!any()) {
        return false;
    }
    const std::unique_lock guard(lock_, std::try_to_lock);
    return guard.owns_lock() && slots_.any_marked();
}

void waiters::look(arrived_list &ready) noexcept {
    std::unique_lock guard(lock_, std::try_to_lock);
    if (!guard.owns_lock()) {
        return;
    }
    slots_.take_marks([&](unsigned i) {
        if (i < oldest_.size() && oldest_[i] != nullptr) {
            if (const std::uint32_t value = slots_.take(i); value != 0) {
                serve(i, value, ready);
            }
        }
    });
}

} // namespace thence::notification
