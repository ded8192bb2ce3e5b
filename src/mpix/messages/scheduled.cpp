// SPDX-License-Identifier: BSD-3-Clause
#include "mpix/messages/scheduled.hpp"

#include "core/base/spin_lock.hpp"
#include "core/continuation/thread_state.hpp"

#include <atomic>
#include <mutex>
#include <utility>

namespace thence::messages {

class schedule {
public:
    void add(scheduled &added) noexcept {
        const std::scoped_lock guard(lock_);
        added.next_ = std::exchange(added_, &added);
        open_.fetch_add(1, std::memory_order_relaxed);
    }

    void advance() noexcept {
        if (open_.load(std::memory_order_relaxed) == 0 || !advancing_.try_lock()) {
            return;
        }
        scheduled *ended = nullptr;
        {
            const continuation::busy_scope
                busy; // a callback could wait for a collective that only this thread may advance
            take_added();
            for (scheduled **at = &all_; *at != nullptr;) {
                scheduled &each = **at;
                if (each.advance()) {
                    *at = each.next_;
                    each.next_ = std::exchange(ended, &each);
                    open_.fetch_sub(1, std::memory_order_relaxed);
                } else {
                    at = &each.next_;
                }
            }
        }
        advancing_.unlock();
        while (ended != nullptr) {
            std::exchange(ended, ended->next_)->end();
        }
    }

private:
    void take_added() noexcept {
        const std::scoped_lock guard(lock_);
        while (added_ != nullptr) {
            scheduled *const next = added_->next_;
            added_->next_ = std::exchange(all_, added_);
            added_ = next;
        }
    }

    base::spin_lock lock_; // guards added_
    scheduled *added_ = nullptr;
    base::spin_lock advancing_; // guards all_; only tried
    scheduled *all_ = nullptr;
    std::atomic<long> open_{0};
};

namespace {
constinit schedule all;
}

void add_scheduled(scheduled &added) noexcept {
    all.add(added);
}

void advance_scheduled() noexcept {
    all.advance();
}

} // namespace thence::messages
