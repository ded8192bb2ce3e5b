// SPDX-License-Identifier: BSD-3-Clause
// A filter that says whether a handle may be in a set. It counts handles in buckets, by a hash of their bits. A handle
// whose bucket is empty is not in the set. If the bucket is not empty, the set itself has to be searched.
//
// Invariant: a bucket's count is the number of handles of the set in it, up to `full`; a bucket that was once full
// stays full, since its number of handles is no longer known. One thread at a time changes the filter. Others read it
// without a lock. The result "not in the set" is correct if the last change for this handle happened before the read.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace thence::engine {

template <class Handle> class handle_filter {
public:
    bool may_hold(Handle handle) const noexcept { return count_of(handle) != 0; }

    // The same for any of eight handles. Unrolled, since an interposed call on an array pays for this check in
    // each element (`persistent_rounds`, requests not tested).
    static constexpr int per_check = 8;
    bool may_hold_any(const Handle handles[]) const noexcept {
        unsigned found = 0;
#pragma GCC unroll 8
        for (int i = 0; i < per_check; ++i) {
            found |= count_of(handles[i]);
        }
        return found != 0;
    }

    void add(Handle handle) noexcept {
        std::atomic<std::uint8_t> &count = counts_[bucket(handle)];
        const unsigned before = count.load(std::memory_order_relaxed);
        if (before != full) {
            count.store(static_cast<std::uint8_t>(before + 1), std::memory_order_relaxed);
        }
    }
    void remove(Handle handle) noexcept {
        std::atomic<std::uint8_t> &count = counts_[bucket(handle)];
        const unsigned before = count.load(std::memory_order_relaxed);
        if (before != full) {
            count.store(static_cast<std::uint8_t>(before - 1), std::memory_order_relaxed);
        }
    }

private:
    static constexpr unsigned full = 255;
    static constexpr std::size_t buckets = std::size_t{1} << 16;

    // The high bits of a product with the golden ratio: handles at equal distances, as MPI gives them out, spread
    // evenly.
    static std::size_t bucket(Handle handle) noexcept {
        if constexpr (std::is_integral_v<Handle>) {
            static_assert(sizeof(Handle) == 4);
            return static_cast<std::uint32_t>(handle) * std::uint32_t{0x9e3779b9} >> 16;
        } else {
            return reinterpret_cast<std::uintptr_t>(handle) * std::uint64_t{0x9e3779b97f4a7c15} >> 48;
        }
    }
    unsigned count_of(Handle handle) const noexcept {
        return counts_[bucket(handle)].load(std::memory_order_relaxed);
    }

    std::atomic<std::uint8_t> counts_[buckets] = {};
};

} // namespace thence::engine
