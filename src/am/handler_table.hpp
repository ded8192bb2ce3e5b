// SPDX-License-Identifier: BSD-3-Clause
// The handlers of an engine by number, and the messages that wait: for a handler that is not registered yet, or, in a
// lane that is handled at once, for a poll since the handler here may take long.
#pragma once

#include "core/base/linked_list.hpp"
#include "core/base/spin_lock.hpp"

#include <thence/am.h>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

namespace thence::am {

struct registered_handler {
    thence_am_handler *call = nullptr;
    void *data = nullptr;
    unsigned flags = 0;
};

struct kept_credit;

struct held_message {
    held_message *next;
    kept_credit *credit; // of the packet that has brought it
    thence_am_message message;
    std::vector<std::uint64_t> payload; // of the message
};

class handler_table {
public:
    handler_table() : all_(THENCE_AM_MOST_HANDLERS) { ready_.reserve(all_.size()); }
    handler_table &operator=(handler_table &&) = delete;
    ~handler_table();
    // False: the number is in use.
    bool add(int number, const registered_handler &handler) noexcept {
        entry &e = all_[static_cast<std::size_t>(number)];
        const std::scoped_lock guard(lock_);
        if (e.is_registered.load(std::memory_order_relaxed)) {
            return false;
        }
        e.handler = handler;
        e.is_registered.store(true, std::memory_order_release);
        if (!e.waiting.empty()) {
            ready_.push_back(number);
        }
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

    // Keeps a copy, and the credit. The number is that of a handler that may be registered. False: memory is exhausted.
    bool hold(const thence_am_message &m, kept_credit *credit) noexcept;
    std::size_t held() const noexcept { return held_count_.load(std::memory_order_acquire); }
    // Takes a message that has a handler or, with `any`, also one that has none: those of a number in order. Null:
    // there is none. The caller deletes it.
    held_message *take(bool any) noexcept;

private:
    struct entry {
        registered_handler handler;
        std::atomic<bool> is_registered{false};
        base::linked_list<held_message> waiting;
    };
    std::vector<entry> all_;
    base::spin_lock lock_;   // guards registration and the lists
    std::vector<int> ready_; // registered numbers for which messages wait; has room for all
    std::atomic<std::size_t> held_count_{0};
};

} // namespace thence::am
