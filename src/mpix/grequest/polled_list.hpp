// SPDX-License-Identifier: BSD-3-Clause
// A list of things that are polled by calling a function of the user: generalized requests with a poll function, and
// async functions. One pass over it calls a bounded number of them, however many there are: the newest and the next in
// rotation.
//
// Invariant: while a thing is claimed, a thread calls functions of its user: it stays in memory, and nobody else claims
// it. So a poll function of one thing never runs on two threads. At most one pass runs at a time, and none inside
// another or inside a poll function, which may make MPI progress. All fields of the list and of `polled` are guarded by
// the lock of the room; it is never held while MPI or a function of the user is called.
#pragma once

#include "core/base/spin_lock.hpp"
#include "core/base/visibility.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace thence::grequest {

// Guards all state of this room. MPI calls us under locks of its own, and they are taken before this one.
extern THENCE_HIDDEN base::spin_lock room_lock;

enum class polled_kind : std::uint8_t { generalized_request, async_thing };

struct polled {
    static constexpr std::uint32_t not_listed = UINT32_MAX;

    std::uint32_t at = not_listed; // its index in the list
    polled_kind kind = polled_kind::async_thing;
    bool calls_no_mpi = false; // may be polled where MPI holds a lock
    bool claimed = false;
    bool released = false; // its owner is done with it: who has claimed it gives it back
};

class polled_list {
public:
    static constexpr std::size_t window = 32;
    static constexpr std::size_t most_after_success = 4;

    bool empty() const noexcept { return size_.load(std::memory_order_seq_cst) == 0; }
    long size() const noexcept { return size_.load(std::memory_order_relaxed); }

    // Makes room for this many. Returns false if memory is exhausted. This, add() and remove() are called with the
    // lock.
    bool make_room(std::size_t most) noexcept;
    // There is room for it.
    void add(polled &added) noexcept {
        added.at = static_cast<std::uint32_t>(count_);
        entries_[count_++] = &added;
        fresh_ = true;
        size_.store(static_cast<long>(count_), std::memory_order_seq_cst);
    }
    void remove(polled &removed) noexcept {
        if (removed.at == polled::not_listed) {
            return;
        }
        polled *const last = entries_[--count_];
        entries_[removed.at] = last;
        last->at = removed.at;
        removed.at = polled::not_listed;
        size_.store(static_cast<long>(count_), std::memory_order_release); // only what is added must be seen at once
    }

    // Calls `poll` for a bounded number of things, which it claims for that time. `poll` ends the claim and returns
    // true if the thing has ended. Returns how many have. Called without the lock.
    long pass(bool (*poll)(polled &)) noexcept;

    void clear() noexcept;

private:
    polled *claim(std::size_t at) noexcept;
    long poll_newest(bool (*poll)(polled &)) noexcept;
    long poll_in_turn(bool (*poll)(polled &), std::size_t most, bool all, long ended) noexcept;

    std::vector<polled *> entries_; // the first count_ are in use
    std::size_t count_ = 0;
    std::size_t next_ = 0; // in rotation
    bool fresh_ = false;   // something was added since the last pass
    std::atomic<long> size_{0};
    std::atomic<bool> passing_{false};
};

} // namespace thence::grequest
