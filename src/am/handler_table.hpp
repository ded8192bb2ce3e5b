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
    kept_credit *credit; // of the packet that has brought it, until it is given back
    thence_am_message message;
    std::vector<std::uint64_t> payload; // of the message
    unsigned phase = 0;                 // see begin_phase()
    bool is_free_of_credit = false;     // its bytes are counted
    held_message *next_with_credit = nullptr;

    std::size_t bytes() const noexcept { return sizeof *this + payload.size() * sizeof payload[0]; }
};

// Invariant: a message that is held and has a handler is counted once in `sent`, as one of this process to itself which
// is under way. One without a handler is not: it does nothing until a handler is registered for it, and whoever does
// that counts it at once. So the end of all messages is found although it waits.
class handler_table {
public:
    explicit handler_table(std::atomic<std::uint64_t> &sent) : sent_(sent), all_(THENCE_AM_MOST_HANDLERS) {
        ready_.reserve(all_.size());
    }
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
        if (e.count != 0) {
            sent_.fetch_add(e.count, std::memory_order_relaxed);
            ready_count_.fetch_add(e.count, std::memory_order_release);
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

    enum class outcome { has_handler, waits, no_memory, too_many };
    // Keeps a copy. The number is that of a handler that may be registered. `credit` is kept, too, and null then; else
    // it is to be given back. The caller has counted the message in `sent`, and as handled if it has no handler.
    outcome hold(const thence_am_message &m, kept_credit *&credit) noexcept;
    std::size_t held() const noexcept { return held_count_.load(std::memory_order_acquire); }
    std::size_t ready() const noexcept { return ready_count_.load(std::memory_order_acquire); } // that have a handler
    // All that follow: one thread at a time.
    // Takes a message that has a handler: those of a number in order. Null: there is none. The caller deletes it.
    held_message *take() noexcept;

    // While all processes wait for the end of all messages, those without a handler keep no credit, since their senders
    // may wait for it. They have at most `most_bytes` together, and what is more is taken into `too_many`. Returns the
    // first of those whose credit is to be given back.
    held_message *release_credits(std::size_t most_bytes, base::linked_list<held_message> &too_many) noexcept;
    void keep_credits() noexcept;
    // What comes from now on is of another phase.
    void begin_phase() noexcept;
    // Takes a message without a handler that has come before that. Null: there is none.
    held_message *take_old() noexcept;

private:
    struct entry {
        registered_handler handler;
        std::atomic<bool> is_registered{false};
        base::linked_list<held_message> waiting;
        std::size_t count = 0; // of those
    };
    void taken(held_message &from_entry, entry &e) noexcept;
    bool has_room(const held_message &m) const noexcept { return without_credit_ + m.bytes() <= most_without_credit_; }

    std::atomic<std::uint64_t> &sent_;
    std::vector<entry> all_;
    base::spin_lock lock_;   // guards registration, the lists, and what follows
    std::vector<int> ready_; // registered numbers for which messages wait; has room for all
    unsigned phase_ = 0;
    bool releases_credits_ = false;
    std::size_t without_credit_ = 0; // bytes
    std::size_t most_without_credit_ = 0;
    std::atomic<std::size_t> held_count_{0};
    std::atomic<std::size_t> ready_count_{0};
};

} // namespace thence::am
