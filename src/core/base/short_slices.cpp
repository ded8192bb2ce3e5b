// SPDX-License-Identifier: BSD-3-Clause
#include "core/base/short_slices.hpp"

#include <cstdint>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace thence::base {

namespace {

// As the kernel declares it; not every C library does.
struct attributes {
    std::uint32_t size;
    std::uint32_t policy;
    std::uint64_t flags;
    std::int32_t nice;
    std::uint32_t priority;
    std::uint64_t runtime; // of an ordinary thread: the length of its slices in nanoseconds
    std::uint64_t deadline;
    std::uint64_t period;
};

constexpr std::uint64_t shortest_slice = 100'000; // that Linux allows

} // namespace

// The attributes are read first, so that the nice value and the policy stay. A thread with another policy than the
// ordinary one keeps all: `runtime` means something else there.
void ask_for_short_slices() noexcept {
    attributes own{};
    if (syscall(SYS_sched_getattr, 0, &own, sizeof own, 0) == 0 && own.policy == SCHED_OTHER) {
        own.size = sizeof own;
        own.runtime = shortest_slice;
        syscall(SYS_sched_setattr, 0, &own, 0);
    }
}

} // namespace thence::base
