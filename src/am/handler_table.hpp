// SPDX-License-Identifier: BSD-3-Clause
// The handlers of an engine by number, and the messages that wait: for a handler that is not registered yet, or, in a
// lane that is handled at once, for a poll since the handler here may take long.
#pragma once

#include "core/base/spin_lock.hpp"

#include <thence/am.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>
#include <vector>

namespace thence::am {

struct registered_handler {
    thence_am_handler *call = nullptr;
    void *data = nullptr;
    unsigned flags = 0;
};

struct held_message {
    int source;
    int number;
    std::vector<unsigned char> payload;
    void *data; // of a put
    std::size_t data_bytes;
};

class handler_table {
public:
    handler_table() : all_(THENCE_AM_MOST_HANDLERS) {}
    // False: the number is in use.
    bool add(int number, const registered_handler &handler) noexcept {
        entry &e = all_[static_cast<std::size_t>(number)];
        const std::scoped_lock guard(lock_);
        if (e.is_registered.load(std::memory_order_relaxed)) {
            return false;
        }
        e.handler = handler;
        e.is_registered.store(true, std::memory_order_release);
        return true;
    }
    // Null: there is none. An entry does not change once it is registered.
    const registered_handler *find(std::int64_t number) const noexcept {
        if (number < 0 || number >= THENCE_AM_MOST_HANDLERS) {
            return nullptr;
        }
        const entry &e = all_[static_cast<std::size_t>(number)];
        return e.is_registered.load(std::memory_order_acquire) ? &e.handler : nullptr;
    }

    // Keeps a copy. False: memory is exhausted.
    bool hold(const thence_am_message &m) noexcept;
    bool any_held() const noexcept { return held_count_.load(std::memory_order_acquire) != 0; }
    // Takes the first message that has a handler or, with `any`, the first. False: there is none.
    bool take(held_message &taken, bool any) noexcept;

private:
    struct entry {
        registered_handler handler;
        std::atomic<bool> is_registered{false};
    };
    std::vector<entry> all_;
    base::spin_lock lock_; // guards registration and the list
    std::deque<held_message> held_;
    std::atomic<std::size_t> held_count_{0};
};

} // namespace thence::am
