// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/persistent.hpp"

#include <mutex>
#include <unordered_set>

namespace thence::mpi {

std::atomic<long> persistent_count{0};

namespace {
std::mutex mutex;
std::unordered_set<MPI_Request> requests;
} // namespace

void note_persistent(MPI_Request request) {
    std::scoped_lock guard(mutex);
    if (requests.insert(request).second) {
        persistent_count.fetch_add(1, std::memory_order_release);
    }
}

void forget_persistent(MPI_Request request) noexcept {
    if (persistent_count.load(std::memory_order_acquire) == 0) {
        return;
    }
    std::scoped_lock guard(mutex);
    if (requests.erase(request) != 0) {
        persistent_count.fetch_sub(1, std::memory_order_release);
    }
}

bool lookup_persistent(MPI_Request request) noexcept {
    std::scoped_lock guard(mutex);
    return requests.contains(request);
}

} // namespace thence::mpi
