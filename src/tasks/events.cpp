// SPDX-License-Identifier: BSD-3-Clause
#include "tasks/events.hpp"

#include <atomic>
#include <limits>

namespace thence::task {

raising raise(thence_events &events, std::uint64_t n) noexcept {
    const std::atomic_ref count(events.count_);
    std::uint64_t seen = count.load(std::memory_order_relaxed);
    do {
        if (seen == 0) {
            return raising::none_outstanding;
        }
        if (n > std::numeric_limits<std::uint64_t>::max() - seen) {
            return raising::overflow;
        }
    } while (!count.compare_exchange_weak(seen, seen + n, std::memory_order_relaxed));
    return raising::done;
}

bool lower(thence_events &events, std::uint64_t n, int error) noexcept {
    const std::atomic_ref count(events.count_);
    std::uint64_t seen = count.load(std::memory_order_relaxed);
    if (seen < n) {
        return false;
    }
    if (n == 0) {
        return true;
    }
    if (error != MPI_SUCCESS) { // the caller's event is outstanding, so the counter still exists
        int none = MPI_SUCCESS;
        std::atomic_ref(events.error_).compare_exchange_strong(none, error, std::memory_order_relaxed);
    }
    do {
        if (seen < n) {
            return false;
        }
    } while (!count.compare_exchange_weak(seen, seen - n, std::memory_order_acq_rel, std::memory_order_relaxed));
    if (seen == n) {
        events.completed_(&events, std::atomic_ref(events.error_).load(std::memory_order_relaxed), events.owner_);
    }
    return true;
}

} // namespace thence::task
