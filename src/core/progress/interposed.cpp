// SPDX-License-Identifier: BSD-3-Clause
#include "core/progress/interposed.hpp"

#include <cstdio>
#include <mutex>
#include <utility>

namespace thence::progress {

namespace {

std::mutex mutex; // guards each count together with its bit
long own_communicator_count = 0;
long way_to_wait_count = 0;

void add(std::uint64_t reason, long &count) noexcept {
    const std::scoped_lock guard(mutex);
    if (count++ == 0) {
        slow_path_reasons.fetch_or(reason);
    }
}

void remove(std::uint64_t reason, long &count) noexcept {
    const std::scoped_lock guard(mutex);
    if (--count == 0) {
        slow_path_reasons.fetch_and(~reason);
    }
}

} // namespace

std::atomic<std::uint64_t> slow_path_reasons{0};
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
