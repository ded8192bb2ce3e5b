// SPDX-License-Identifier: BSD-3-Clause
// The accesses of sibling tasks to the same data, linked in the order of submission. There is no lock: one thread
// appends to the chain while any thread completes accesses. tests/model/access_chain.pml checks all interleavings.
//
// Consecutive accesses that need no order between them (access.hpp) form a group. An access has five flags. Each is set
// once:
//   may_run   all earlier groups are complete
//   alone     all earlier accesses are complete
//   complete  the task is complete
//   followed  `next` is set
//   not_last  the access is alone and complete, but another one was appended before the chain could be made empty
// The thread that sets the last flag of a row does what stands on its right:
//   may_run, followed          if next is of the same group, it sets may_run of next
//   alone, complete            if followed is not set, it tries to make the chain empty. This access is dead if that
//                              succeeds. If not, this thread sets not_last, and the appending one sets followed
//   alone, complete, followed  it sets may_run and alone of next; this access is dead. If followed was the last of the
//                              three, not_last belongs to the row, too: the appending thread acts if it finds not_last
//                              set, else the other one does
// A task runs when all its accesses may run. The memory of a dead access is used again at once.
//
// No thread touches a dead access: an access lives until it is complete and alone. The access before it sets alone. Its
// task sets complete, which needs counted_down() to have been called for this access. A thread that sets may_run along
// a group calls counted_down() for an access only after it has read that access for the last time and has set may_run
// of the next one. Before that, neither of the two can be dead. made_empty() compares addresses: it would succeed
// wrongly if the memory of the access were used for a later one of the same chain meanwhile (ABA). So the appending
// thread does not take the access for dead before `not_last` is set.
#pragma once

#include <thence/dataflow/access.hpp>

#include <atomic>
#include <cstdint>

namespace thence::dataflow {

struct task;
struct linked_access;

// The chain of one datum.
struct access_chain {
    std::atomic<linked_access *> last{nullptr};
    const void *start = nullptr; // the data
    // Under the lock of the scope: the last submission that named the datum, and the index of its access. So a datum
    // that a task names twice gets one access.
    std::uint64_t submission = 0;
    std::uint32_t marked_as = 0;
    // Commutative accesses, under the lock of tokens (tokens.hpp).
    bool held = false;
    task *first_waiting = nullptr; // a list
    task *last_waiting = nullptr;  // if there is a first one
};

struct linked_access {
    static constexpr std::uint32_t may_run = 1, alone = 2, complete = 4, followed = 8, not_last = 16;

    std::atomic<std::uint32_t> flags{0};
    access_kind kind{};
    access_chain *chain = nullptr;
    task *owner = nullptr;
    linked_access *next = nullptr; // set before the flag `followed`

    bool same_group(const linked_access &later) const noexcept { return detail::unordered(kind, later.kind); }
};

// Appends `added` to its chain. The lock of the scope is held. Calls `dead(access)` if the access before it is dead.
// @return whether `added` may run.
template <class Dead> bool append(linked_access &added, Dead &&dead) noexcept {
    linked_access *const before = added.chain->last.exchange(&added, std::memory_order_acq_rel);
    if (before == nullptr) {
        added.flags.store(linked_access::may_run | linked_access::alone, std::memory_order_relaxed);
        return true;
    }
    const bool grouped = before->same_group(added);
    before->next = &added;
    const std::uint32_t old = before->flags.fetch_or(linked_access::followed, std::memory_order_acq_rel);
    if ((old & linked_access::not_last) != 0) {
        // No other thread knows `added`, so this thread sets its flags.
        added.flags.store(linked_access::may_run | linked_access::alone, std::memory_order_relaxed);
        dead(*before);
        return true;
    }
    if (grouped && (old & linked_access::may_run) != 0) {
        return (added.flags.fetch_or(linked_access::may_run, std::memory_order_acq_rel) & linked_access::may_run) == 0;
    }
    return false;
}

// Makes the chain empty if `last_one` is at its end.
inline bool made_empty(linked_access &last_one) noexcept {
    linked_access *expected = &last_one;
    return last_one.chain->last.compare_exchange_strong(expected, nullptr, std::memory_order_acq_rel,
                                                        std::memory_order_relaxed);
}

// Sets flags of an access and applies the rules along the chain. Calls `counted_down(task)` for each access that may
// run now, after its last use here, and `dead(access)` for each access whose memory may be used again.
template <class CountedDown, class Dead>
void set_flags(linked_access *at, std::uint32_t flags, CountedDown &&counted_down, Dead &&dead) noexcept {
    constexpr std::uint32_t done = linked_access::alone | linked_access::complete;
    task *runs = nullptr; // counted_down() has not been called for it yet
    for (;;) {
        const std::uint32_t old = at->flags.fetch_or(flags, std::memory_order_acq_rel);
        const std::uint32_t updated = old | flags;
        const bool newly_runs = ((updated & ~old) & linked_access::may_run) != 0;
        linked_access *next = nullptr;
        std::uint32_t passed = 0;
        linked_access *died = nullptr;
        if ((updated & done) == done) {
            if ((updated & linked_access::followed) == 0 && made_empty(*at)) {
                died = at;
            } else if ((updated & linked_access::followed) != 0 ||
                       (at->flags.fetch_or(linked_access::not_last, std::memory_order_acq_rel) &
                        linked_access::followed) != 0) {
                next = at->next;
                passed = linked_access::may_run | linked_access::alone;
                died = at;
            }
        } else if (newly_runs && (updated & linked_access::followed) != 0 && at->same_group(*at->next)) {
            next = at->next;
            passed = linked_access::may_run;
        }
        task *const runs_now = newly_runs ? at->owner : nullptr;
        if (died != nullptr) {
            dead(*died);
        }
        if (runs != nullptr) {
            counted_down(*runs);
        }
        runs = runs_now;
        if (next == nullptr) {
            break;
        }
        at = next;
        flags = passed;
    }
    if (runs != nullptr) {
        counted_down(*runs);
    }
}

} // namespace thence::dataflow
