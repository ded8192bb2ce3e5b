// SPDX-License-Identifier: BSD-3-Clause
#include "progress/interposed.hpp"

#include <mutex>

namespace thence::progress {

namespace {

std::mutex mutex; // guards the count together with its bit
long own_communicator_count = 0;

} // namespace

std::atomic<std::uint64_t> slow_path_reasons{0};
bool interposed = false;

void add_own_communicators() noexcept {
    const std::scoped_lock guard(mutex);
    if (own_communicator_count++ == 0) {
        slow_path_reasons.fetch_or(own_communicators);
    }
}

void remove_own_communicators() noexcept {
    const std::scoped_lock guard(mutex);
    if (--own_communicator_count == 0) {
        slow_path_reasons.fetch_and(~own_communicators);
    }
}

} // namespace thence::progress
