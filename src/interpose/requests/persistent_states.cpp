// SPDX-License-Identifier: BSD-3-Clause
#include "interpose/requests/persistent_states.hpp"

#include <deque>
#include <mutex>
#include <new>

namespace thence::interpose {

constinit std::atomic<const persistent_states::table *> persistent_states::current{nullptr};

namespace {

constexpr unsigned bits_of_hash = 64;
constexpr unsigned least_size = 8; // a power of two

std::mutex mutex; // of a thread that enters a handle
std::size_t entered = 0;
std::deque<persistent_states::state> &states() {
    static auto &made = *new std::deque<persistent_states::state>; // used until the process ends
    return made;
}

} // namespace

void persistent_states::put(const table &to, std::uintptr_t handle, state *value) noexcept {
    std::size_t i = first(handle) >> to.shift;
    while (to.slots[i & to.mask].handle.load(std::memory_order_relaxed) != 0) {
        ++i;
    }
    slot &at = to.slots[i & to.mask];
    at.value.store(value, std::memory_order_relaxed);
    at.handle.store(handle, std::memory_order_release);
}

// With the mutex.
bool persistent_states::grow() noexcept {
    const table *const before = current.load(std::memory_order_relaxed);
    const unsigned power = before == nullptr ? least_size : bits_of_hash - before->shift + 1;
    const std::size_t size = std::size_t{1} << power;
    auto *const made = new (std::nothrow) table{bits_of_hash - power, size - 1, new (std::nothrow) slot[size]};
    if (made == nullptr || made->slots == nullptr) {
        delete made;
        return false;
    }
    for (std::size_t i = 0; before != nullptr && i <= before->mask; ++i) {
        if (const std::uintptr_t handle = before->slots[i].handle.load(std::memory_order_relaxed); handle != 0) {
            put(*made, handle, before->slots[i].value.load(std::memory_order_relaxed));
        }
    }
    current.store(made, std::memory_order_release);
    return true;
}

persistent_states::state *persistent_states::find_or_enter(MPI_Request request) noexcept {
    if (state *const found = find(request)) {
        return found;
    }
    const std::scoped_lock guard(mutex);
    if (state *const found = find(request)) {
        return found;
    }
    const table *const in = current.load(std::memory_order_relaxed);
    if ((in == nullptr || 2 * (entered + 1) > in->mask) && !grow()) {
        return nullptr;
    }
    try {
        state &made = states().emplace_back(persistent_state::none);
        put(*current.load(std::memory_order_relaxed), mpi::bits(request), &made);
        ++entered;
        return &made;
    } catch (const std::bad_alloc &) {
        return nullptr;
    }
}

} // namespace thence::interpose
