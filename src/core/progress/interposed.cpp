// SPDX-License-Identifier: BSD-3-Clause
#include "core/progress/interposed.hpp"

#include <cstdio>
#include <mutex>
#include <utility>

namespace thence::progress {

namespace {

std::mutex mutex; // guards each count together with its bit, and what follows from them
long own_communicator_count = 0;
long way_to_wait_count = 0;
std::atomic<bool> may_only_count{false};

constexpr std::uint64_t never = 1; // reasons are bits above those of an address

// Counting is one reason for each of the two bits. Where no hook runs callbacks, a program without any has nothing to
// catch up with.
void find_reasons_to_count() noexcept {
    const bool alone = may_only_count && own_communicator_count == 1 && way_to_wait_count == 1;
    const std::uint64_t hook = slow_path_reasons.load() & no_hook_runs;
    reasons_to_count.store(alone ? own_communicators | way_to_wait_added | hook : never);
}

void add(std::uint64_t reason, long &count) noexcept {
    const std::scoped_lock guard(mutex);
    if (count++ == 0) {
        slow_path_reasons.fetch_or(reason);
    }
    find_reasons_to_count();
}

void remove(std::uint64_t reason, long &count) noexcept {
    const std::scoped_lock guard(mutex);
    if (--count == 0) {
        slow_path_reasons.fetch_and(~reason);
    }
    find_reasons_to_count();
}

} // namespace

std::atomic<std::uint64_t> slow_path_reasons{0};
std::atomic<std::uint64_t> reasons_to_count{never};

void allow_only_to_count(bool allowed) noexcept {
    if (may_only_count.exchange(allowed) != allowed) {
        const std::scoped_lock guard(mutex);
        find_reasons_to_count();
    }
}
interposition (*look_where_calls_lead)() noexcept = nullptr;

namespace {
constexpr const char *not_linked = "libthence is not linked, and libthence-core interposes no call of MPI";
} // namespace
interposition interposed{false, false, false, not_linked, not_linked, "not interposed: libthence is not linked"};

void find_interposition() noexcept {
    if (look_where_calls_lead == nullptr) {
        return;
    }
    interposed = std::exchange(look_where_calls_lead, nullptr)();
    if (!interposed.calls) {
        std::fprintf(stderr, "thence: libthence is loaded, and MPI's calls do not come to it: %s\n",
                     interposed.why_not);
    }
}

void add_own_communicators() noexcept {
    add(own_communicators, own_communicator_count);
}

void remove_own_communicators() noexcept {
    remove(own_communicators, own_communicator_count);
}

void add_way_to_wait() noexcept {
    add(way_to_wait_added, way_to_wait_count);
}

void remove_way_to_wait() noexcept {
    remove(way_to_wait_added, way_to_wait_count);
}

} // namespace thence::progress
