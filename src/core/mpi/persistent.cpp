// SPDX-License-Identifier: BSD-3-Clause
#include "core/mpi/persistent.hpp"

#include <mutex>
#include <unordered_map>

namespace thence::mpi {

std::atomic<long> persistent_count{0};

namespace {
std::mutex mutex;
// Never destroyed: threads free requests while the process exits.
std::unordered_map<MPI_Request, cancelling> &requests = *new std::unordered_map<MPI_Request, cancelling>;
} // namespace

void note_persistent(MPI_Request request, cancelling what) {
    std::scoped_lock guard(mutex);
    if (requests.insert_or_assign(request, what).second) {
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

bool noted_cancellable(MPI_Request request) noexcept {
    std::scoped_lock guard(mutex);
    const auto found = requests.find(request);
    return found != requests.end() && found->second == cancelling::possible;
}

void rename_persistent(MPI_Request before, MPI_Request after) {
    std::scoped_lock guard(mutex);
    if (auto noted = requests.extract(before); !noted.empty()) {
        noted.key() = after;
        requests.insert(std::move(noted));
    }
}

} // namespace thence::mpi
