// SPDX-License-Identifier: BSD-3-Clause
// The order of the accesses of sibling tasks to the same data: a chain, in the order of submission. No lock: the thread
// that submits appends to the chain, and any thread completes accesses, at the same time. tests/model/access_chain.pml
// checks all interleavings.
//
// Consecutive accesses that are unordered (access.hpp) form a group. An access has four flags, each set once:
//   may_run   every earlier group is complete
//   alone     every earlier access is complete
//   complete  its task is complete
//   followed  `next` is known
// Rules. They say what the thread does next that sets the last of the flags on the left.
//   may_run, followed             and next is of the same group: next gets may_run
//   alone, complete, followed     next gets may_run and alone; this access is dead
//   alone, complete               not followed yet: it is taken off the chain's end, and is dead if that succeeds. If not,
//                                 the submitting thread is about to set followed, and the rule above applies
// A task runs when all its accesses may run. The memory of a dead access may be used for something else at once.
//
// Why no thread touches a dead access: an access lives until it is complete and alone. It gets alone from the access
// before it, and complete only after its task ran, so after counted_down() was called for it. A thread that passes
// may_run along a group calls counted_down() for an access after its last look at it, and after next got may_run: until
// then neither this access nor the next one can be dead.
#pragma once

#include <thence/dataflow/access.hpp>

#include <atomic>
#include <cstdint>

namespace thence::dataflow {

struct task;
struct chain_access;

// The end of one chain.
struct chain {
    std::atomic<chain_access *> last{nullptr};
    const void *start = nullptr; // the data
    // Of the thread that submits, under the lock of the scope: the number of the last submission that named these data, and
    // which of its accesses that is, so that data that a task names twice are found.
    std::uint64_t submission = 0;
    std::uint32_t marked_as = 0;
    // Of commutative accesses, under the lock of tokens (tokens.hpp).
    bool held = false;
    task *first_waiting = nullptr; // a list
    task *last_waiting = nullptr;  // if there is a first one
};

struct chain_access {
    static constexpr std::uint32_t may_run = 1, alone = 2, complete = 4, followed = 8;

    std::atomic<std::uint32_t> flags{0};
    access_kind kind{};
    chain *of = nullptr;
    task *owner = nullptr;
    chain_access *next = nullptr; // set before the flag `followed`

    bool same_group(const chain_access &later) const noexcept { return detail::unordered(kind, later.kind); }
};

// Appends `added`, whose chain has been set, to its chain. Only one thread at a time appends to the chains of a scope.
// `dead(access)`: called for an earlier access that is dead now. @return whether `added` may run.
template <class Dead> bool append(chain_access &added, Dead &&dead) noexcept {
    chain_access *const before = added.of->last.exchange(&added, std::memory_order_acq_rel);
    if (before == nullptr) {
        added.flags.store(chain_access::may_run | chain_access::alone, std::memory_order_relaxed);
        return true;
    }
    const bool grouped = before->same_group(added);
    before->next = &added;
    const std::uint32_t old = before->flags.fetch_or(chain_access::followed, std::memory_order_acq_rel);
    if ((old & (chain_access::alone | chain_access::complete)) == (chain_access::alone | chain_access::complete)) {
        // Nobody else knows `added` yet: this thread alone was to tell it.
        added.flags.store(chain_access::may_run | chain_access::alone, std::memory_order_relaxed);
        dead(*before);
        return true;
    }
    if (grouped && (old & chain_access::may_run) != 0)
        return (added.flags.fetch_or(chain_access::may_run, std::memory_order_acq_rel) & chain_access::may_run) == 0;
    return false;
}

// Sets flags of an access, and follows the rules along the chain. `counted_down(task)`: another access of that task may
// run; the last use of it here. `dead(access)`: its memory may be used for something else.
template <class CountedDown, class Dead>
void set_flags(chain_access *at, std::uint32_t flags, CountedDown &&counted_down, Dead &&dead) noexcept {
    constexpr std::uint32_t done = chain_access::alone | chain_access::complete;
    task *runs = nullptr; // one that counted_down() is still to be called for
    for (;;) {
        const std::uint32_t old = at->flags.fetch_or(flags, std::memory_order_acq_rel);
        const std::uint32_t now = old | flags;
        const bool newly_runs = ((now & ~old) & chain_access::may_run) != 0;
        chain_access *next = nullptr;
        std::uint32_t passed = 0;
        chain_access *died = nullptr;
        if ((now & done) == done) {
            if ((now & chain_access::followed) != 0) {
                next = at->next;
                passed = chain_access::may_run | chain_access::alone;
                died = at;
            } else {
                chain_access *expected = at;
                if (at->of->last.compare_exchange_strong(expected, nullptr, std::memory_order_acq_rel,
                                                         std::memory_order_relaxed))
                    died = at;
            }
        } else if (newly_runs && (now & chain_access::followed) != 0 && at->same_group(*at->next)) {
            next = at->next;
            passed = chain_access::may_run;
        }
        task *const runs_now = newly_runs ? at->owner : nullptr;
        if (died != nullptr)
            dead(*died);
        if (runs != nullptr)
            counted_down(*runs);
        runs = runs_now;
        if (next == nullptr)
            break;
        at = next;
        flags = passed;
    }
    if (runs != nullptr)
        counted_down(*runs);
}

} // namespace thence::dataflow
