// SPDX-License-Identifier: BSD-3-Clause
// What is known about whether another process works: whether an operation on it has failed, whether it is gone, and
// which messages between it and this process will not complete, so that nobody waits for them. The system tells of
// processes of this node that they have ended. Of those of other nodes only MPI may, by the error of a message.
#pragma once

#include "core/base/linked_list.hpp"
#include "core/base/spin_lock.hpp"
#include "core/base/visibility.hpp"
#include "onesided/wire/packet.hpp"

#include <atomic>
#include <cstdint>

namespace thence::onesided {

class THENCE_INTERNAL health {
public:
    health() noexcept = default;
    health &operator=(health &&) = delete;
    ~health();

    std::atomic<bool> failed{false};
    // Set once. An operation on this process is an error from then on.
    std::atomic<bool> gone{false};

    // The process has this number in the system, and runs now.
    void watch(int process) noexcept;
    // Asks the system whether it is gone.
    void look() noexcept;

    // The message with the number of this packet will not complete: the packet, which asks for it or announces it, was
    // lost after its call, or the process says that its MPI has not moved the message. Any thread.
    void keep_lost(wire::packet &names_it) noexcept;
    // Whether the message with this number will not complete. True once, unless the process is gone.
    bool will_not_answer(std::uint32_t serial) noexcept {
        return gone.load(std::memory_order_acquire) || (any_lost_.load(std::memory_order_acquire) && take_lost(serial));
    }

private:
    bool take_lost(std::uint32_t serial) noexcept;

    base::spin_lock lock_; // guards the list
    base::linked_list<wire::packet> lost_;
    std::atomic<bool> any_lost_{false};
    std::atomic<int> descriptor_{-1}; // that tells of its end; without it only its number is asked for
    std::atomic<int> process_{0};     // 0: it is not watched; set last, since a poll may look
};

} // namespace thence::onesided
