// SPDX-License-Identifier: BSD-3-Clause
#include "mpix/grequest/polled_list.hpp"

#include <algorithm>
#include <exception>
#include <mutex>
#include <utility>

namespace thence::grequest {

base::spin_lock room_lock;

bool polled_list::make_room(std::size_t most) noexcept {
    try {
        entries_.resize(std::max(most, entries_.size()));
        return true;
    } catch (const std::exception &) {
        return false;
    }
}

void polled_list::clear() noexcept {
    for (; count_ != 0; --count_) {
        entries_[count_ - 1]->at = polled::not_listed;
    }
    size_.store(0, std::memory_order_seq_cst);
}

// Null if there is no such entry, or if another thread has claimed it.
polled *polled_list::claim(std::size_t at) noexcept {
    if (at >= count_ || entries_[at]->claimed) {
        return nullptr;
    }
    entries_[at]->claimed = true;
    return entries_[at];
}

// From the newest on: what was started last often ends first. If the newest end, the others are not asked: they have
// their turn.
long polled_list::poll_newest(bool (*poll)(polled &)) noexcept {
    std::unique_lock guard(room_lock);
    long ended = 0;
    std::size_t at = count_;
    for (std::size_t i = 0; i < window && at != 0; ++i) {
        polled *const each = claim(--at);
        if (each == nullptr) {
            continue;
        }
        guard.unlock();
        const bool over = poll(*each);
        guard.lock();
        if (over) {
            ++ended;
        } else if (ended != 0) {
            break;
        }
        at = std::min(at, count_); // what the poll function has started is newer than this pass
    }
    return ended;
}

// `ended`: how many have ended in this pass. Once any has, few are asked that have not.
long polled_list::poll_in_turn(bool (*poll)(polled &), std::size_t most, bool all, long ended) noexcept {
    std::unique_lock guard(room_lock);
    for (std::size_t i = 0; i < most && count_ != 0; ++i) {
        if (next_ >= count_) {
            next_ = 0;
        }
        polled *const each = claim(next_);
        if (each == nullptr) {
            ++next_;
            continue;
        }
        guard.unlock();
        const bool over = poll(*each);
        guard.lock();
        if (over) { // the last entry has taken its place
            ++ended;
            continue;
        }
        ++next_;
        if (!all && ended != 0 && i + 1 >= most_after_success) {
            break;
        }
    }
    return ended;
}

long polled_list::pass(bool (*poll)(polled &)) noexcept {
    if (passing_.load(std::memory_order_relaxed) || passing_.exchange(true, std::memory_order_acquire)) {
        return 0;
    }
    std::size_t size = 0;
    bool newest = false;
    {
        const std::scoped_lock guard(room_lock);
        size = count_;
        newest = std::exchange(fresh_, false) && size > 2 * window;
    }
    long ended = newest ? poll_newest(poll) : 0;
    ended = poll_in_turn(poll, newest ? window : std::min(size, 2 * window), size <= 2 * window, ended);
    passing_.store(false, std::memory_order_release);
    return ended;
}

} // namespace thence::grequest
