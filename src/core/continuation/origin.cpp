// SPDX-License-Identifier: BSD-3-Clause
// The table of call sites is a hash table of fixed size whose entries never change. A number is the index of an entry,
// plus one.
#include "core/continuation/origin.hpp"

#include <array>
#include <atomic>

namespace thence::continuation {

namespace {

constexpr std::uint32_t capacity = 4096; // a power of two
constexpr std::uint32_t longest_search = 64;
std::array<std::atomic<const void *>, capacity> sites{};

std::uint32_t hash(const void *code) noexcept {
    return static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(code) * 0x9e3779b97f4a7c15U >> 48);
}

} // namespace

std::uint32_t site_of(const void *code) noexcept {
    for (std::uint32_t i = 0, at = hash(code); i < longest_search; ++i, ++at) {
        std::atomic<const void *> &entry = sites[at % capacity];
        const void *found = entry.load(std::memory_order_relaxed);
        if (found == code || (found == nullptr && entry.compare_exchange_strong(found, code)) || found == code) {
            return at % capacity + 1;
        }
    }
    return 0;
}

const void *code_of(origin from) noexcept {
    const auto bits = reinterpret_cast<std::uintptr_t>(from);
    if ((bits & origin_has_index) == 0) {
        return from;
    }
    const auto site = static_cast<std::uint32_t>((bits & ~origin_has_index) >> 32);
    return site == 0 ? nullptr : sites[site - 1].load(std::memory_order_relaxed);
}

} // namespace thence::continuation
