// SPDX-License-Identifier: BSD-3-Clause
// The messages with long data that leave. At most `most` of them are under way. The others wait, first come first
// served.
//
// Invariant of the throttle: if one waits and fewer than `most` are under way, some thread is in start_waiting() or
// will call it: whoever adds one does, and whoever ends one. On a thread that may not call MPI, progress does.
#pragma once

#include "am/network.hpp"
#include "core/base/linked_list.hpp"
#include "core/base/spin_lock.hpp"

#include <atomic>
#include <cstddef>

namespace thence::am {

// With room for a payload behind it. Null: memory is exhausted.
transfer *make_transfer(std::size_t payload_bytes) noexcept;
void delete_transfer(transfer *t) noexcept;

class outgoing_data {
public:
    class owner {
    public:
        // False: the data must not leave any more, since MPI would read them.
        virtual bool may_leave(transfer &t) noexcept = 0;
        // Data have left or must not, and the transfer is not used any more. `is_told`: if there is an error, the other
        // process is told, too. Else it waits for ever.
        virtual void has_left(transfer &t, int error, bool is_told) noexcept = 0;

    protected:
        ~owner() = default;
    };

    outgoing_data(network &by, owner &to) noexcept : by_(by), owner_(to) {}
    outgoing_data &operator=(outgoing_data &&) = delete;
    ~outgoing_data();
    void begin(int most) noexcept { most_ = most; }

    // One will be added, or forgotten.
    void expect() noexcept { count_.fetch_add(1, std::memory_order_relaxed); }
    void forget() noexcept { count_.fetch_sub(1, std::memory_order_release); }
    void add(transfer &t) noexcept;
    // One has left.
    void left(transfer &t, int error) noexcept;
    void start_waiting() noexcept;
    bool any_waits() const noexcept { return waiting_.load(std::memory_order_relaxed) != 0; }
    // How many are expected, under way or wait.
    std::size_t count() const noexcept { return count_.load(std::memory_order_acquire); }

private:
    transfer *take() noexcept; // null: none may start
    void end(transfer &t, int error) noexcept;

    network &by_;
    owner &owner_;
    int most_ = 1;
    base::spin_lock lock_; // guards these
    int under_way_ = 0;
    base::linked_list<transfer> queue_;
    std::atomic<std::size_t> waiting_{0}; // how many are in it
    std::atomic<std::size_t> count_{0};
};

} // namespace thence::am
