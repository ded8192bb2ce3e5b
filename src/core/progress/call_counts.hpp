// SPDX-License-Identifier: BSD-3-Clause
// What interposed calls count for the helper thread (plain_operations.hpp), so that each adds a few instructions.
//
// A thread counts in one of several stripes, which its thread pointer names: threads rarely share a cache line, and
// nothing is to be done where a thread begins or ends. Only the helper reads all of them.
//
// Invariants:
//  - In each stripe 0 <= ended <= begun. Who ends an operation takes it from a stripe in which ended < begun: its own,
//    else any other. If there is none, the operation was not counted, for example since a library has started it by a
//    PMPI_ function; so it hides no later one.
//  - The operations that are outstanding are never more than the sum of begun - ended. They may be less: one that no
//    interposed call completes has never ended. All that follows is that the helper looks although nothing is
//    outstanding, more and more rarely. (An operation counts once MPI has started it.)
//  - The helper rests only after it has set the bit `resting` in each stripe by an atomic operation that gave it begun,
//    and none had more begun than ended. A thread that begins an operation finds the bit in the result of its own
//    increment, and wakes the helper. Bit and count are one word, so one of them sees the other, whatever the order of
//    other accesses.
#pragma once

#include "core/base/visibility.hpp"

#include <array>
#include <atomic>
#include <cstdint>

namespace thence::progress {

struct alignas(64) call_counts {
    // The sign: the helper rests. A sum below 0 is one test after the increment.
    static constexpr std::int64_t resting = INT64_MIN;

    std::atomic<std::int64_t> begun{0};
    std::atomic<std::int64_t> ended{0};
    // Low half: threads in calls that may block. High half, modulo 2^32: calls that were made, but those that begin or
    // end operations.
    std::atomic<std::uint64_t> calls{0};

    static constexpr std::uint64_t one_call = std::uint64_t{1} << 32;
    static constexpr std::uint64_t blocked_mask = one_call - 1;

    std::int64_t all_begun() const noexcept { return begun.load(std::memory_order_acquire) & ~resting; }
    // @return false if all have ended.
    bool end_one() noexcept {
        std::int64_t before = ended.load(std::memory_order_relaxed);
        do {
            if (before >= all_begun()) {
                return false;
            }
        } while (
            !ended.compare_exchange_weak(before, before + 1, std::memory_order_release, std::memory_order_relaxed));
        return true;
    }
};
extern THENCE_INTERNAL std::array<call_counts, 16> all_call_counts;

// That of this thread.
inline call_counts &own_call_counts() noexcept {
#if defined(__has_builtin) && __has_builtin(__builtin_thread_pointer)
    const auto thread = reinterpret_cast<std::uintptr_t>(__builtin_thread_pointer());
#else
    static thread_local constinit char of_thread = 0;
    const auto thread = reinterpret_cast<std::uintptr_t>(&of_thread);
#endif
    return all_call_counts[(thread >> 12) % std::tuple_size_v<decltype(all_call_counts)>];
}

} // namespace thence::progress
