// SPDX-License-Identifier: BSD-3-Clause
#include "scarce_memory.hpp"

#include <atomic>
#include <new>

namespace {

constinit thread_local bool exhausted = false;
constinit std::atomic<bool> exhausted_everywhere{false};

template <class... Alignment> void *allocate(std::size_t size, Alignment... alignment) noexcept {
    try {
        return exhausted || exhausted_everywhere.load(std::memory_order_relaxed) ? nullptr
                                                                                 : ::operator new(size, alignment...);
    } catch (const std::bad_alloc &) {
        return nullptr;
    }
}

} // namespace

void *operator new(std::size_t size, const std::nothrow_t &) noexcept {
    return allocate(size);
}
void *operator new[](std::size_t size, const std::nothrow_t &) noexcept {
    return allocate(size);
}
void *operator new(std::size_t size, std::align_val_t alignment, const std::nothrow_t &) noexcept {
    return allocate(size, alignment);
}

namespace thence::fake {

scarcity::scarcity() noexcept {
    exhausted = true;
}
scarcity::~scarcity() {
    exhausted = false;
}
scarcity_everywhere::scarcity_everywhere() noexcept {
    exhausted_everywhere.store(true);
}
scarcity_everywhere::~scarcity_everywhere() {
    exhausted_everywhere.store(false);
}

} // namespace thence::fake
