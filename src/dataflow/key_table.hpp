// SPDX-License-Identifier: BSD-3-Clause
// A hash table from addresses to the chains of accesses in one scope. The lock of the scope is held.
//
// A chain is empty when its last access is complete. The next access to its datum uses it again. A rebuild of the table
// frees empty chains, so the size of the table follows the number of chains in use.
#pragma once

#include "dataflow/access_chain.hpp"
#include "dataflow/block_pool.hpp"

#include <cstddef>
#include <memory>
#include <new>

namespace thence::dataflow {

class key_table {
public:
    key_table &operator=(key_table &&) = delete;
    ~key_table() {
        for (std::size_t i = 0; i < capacity_; ++i) {
            free(slots_[i]);
        }
    }

    // Begins a submission. Chains that are marked with its number are not freed.
    std::uint64_t begin() noexcept { return ++submission_; }

    // The chain of the datum, which is added if it is missing. Throws std::bad_alloc, and the table is unchanged then.
    access_chain &find(const void *start) {
        if (capacity_ != 0) [[likely]] {
            for (std::size_t i = hash(start);; ++i) {
                access_chain *const found = slots_[i & (capacity_ - 1)];
                if (found == nullptr) {
                    break;
                }
                if (detail::same_data(found->start, start)) {
                    return *found;
                }
            }
        }
        return add(start);
    }

    // Frees empty chains if the table is large. Not during a submission.
    void trim() {
        begin();
        if (capacity_ > 4 * least) {
            rebuild(0);
        }
    }

    std::size_t capacity() const noexcept { return capacity_; }

private:
    static constexpr std::size_t least = 16;
    static constexpr int chain_class = block_pool::size_class(sizeof(access_chain));

    std::size_t hash(const void *start) const noexcept {
        // The upper bits of the product depend on all bits of the address.
        return static_cast<std::size_t>((reinterpret_cast<std::uintptr_t>(start) * 0x9E3779B97F4A7C15U) >> 32);
    }
    static void free(access_chain *gone) noexcept {
        if (gone != nullptr) {
            gone->~access_chain();
            block_pool::give(chain_class, gone);
        }
    }

    [[gnu::noinline]] access_chain &add(const void *start) {
        if ((used_ + 1) * 2 > capacity_) {
            rebuild(1);
        }
        access_chain *const made = new (block_pool::take(chain_class, sizeof(access_chain))) access_chain;
        made->start = start;
        put(made);
        return *made;
    }
    void put(access_chain *added) noexcept {
        std::size_t i = hash(added->start) & (capacity_ - 1);
        while (slots_[i] != nullptr) {
            i = (i + 1) & (capacity_ - 1);
        }
        slots_[i] = added;
        ++used_;
    }
    // An empty chain stays empty, since only the submitting thread appends to it. Chains of the current submission may
    // be empty.
    bool in_use(const access_chain &one) const noexcept {
        return one.submission == submission_ || one.last.load(std::memory_order_acquire) != nullptr;
    }
    void rebuild(std::size_t more) {
        std::size_t live = more;
        for (std::size_t i = 0; i < capacity_; ++i) {
            live += slots_[i] != nullptr && in_use(*slots_[i]) ? 1 : 0;
        }
        std::size_t wanted = least;
        while (wanted < 4 * live) {
            wanted *= 2;
        }
        auto fresh = std::make_unique<access_chain *[]>(wanted);
        const std::size_t before = capacity_;
        fresh.swap(slots_);
        capacity_ = wanted;
        used_ = 0;
        for (std::size_t i = 0; i < before; ++i) {
            access_chain *const one = fresh[i];
            if (one == nullptr) {
                continue;
            }
            // Chains that became empty after they were counted still fit.
            if (in_use(*one)) {
                put(one);
            } else {
                free(one);
            }
        }
    }

    std::unique_ptr<access_chain *[]> slots_;
    std::size_t capacity_ = 0; // a power of two, or 0
    std::size_t used_ = 0;
    std::uint64_t submission_ = 0;
};

} // namespace thence::dataflow
