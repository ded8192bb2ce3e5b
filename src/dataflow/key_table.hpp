// SPDX-License-Identifier: BSD-3-Clause
// Finds the chain of accesses to given data, among those of one scope. Used under the scope's lock.
//
// A chain whose last access is complete is empty. An empty chain is used again when its data are named again, and freed
// when the table is rebuilt. So the table's size follows the number of chains in use.
#pragma once

#include "dataflow/access_chain.hpp"
#include "dataflow/block_pool.hpp"

#include <cstddef>
#include <memory>
#include <new>

namespace thence::dataflow {

class key_table {
public:
    key_table() = default;
    key_table(const key_table &) = delete;
    key_table &operator=(const key_table &) = delete;
    ~key_table() {
        for (std::size_t i = 0; i < capacity_; ++i)
            free(slots_[i]);
    }

    // Begins a submission: chains that it marks with this number stay.
    std::uint64_t begin() noexcept { return ++submission_; }

    // Throws std::bad_alloc; nothing has changed then.
    chain &find(const void *start) {
        if (capacity_ != 0) [[likely]] {
            for (std::size_t i = hash(start);; ++i) {
                chain *const found = slots_[i & (capacity_ - 1)];
                if (found == nullptr)
                    break;
                if (detail::same_data(found->start, start))
                    return *found;
            }
        }
        return add(start);
    }

    // Frees empty chains, if there may be many. Between two submissions.
    void trim() {
        begin();
        if (capacity_ > 4 * least)
            rebuild(0);
    }

    std::size_t capacity() const noexcept { return capacity_; }

private:
    static constexpr std::size_t least = 16;
    static constexpr int chain_class = block_pool::size_class(sizeof(chain));

    std::size_t hash(const void *start) const noexcept {
        // The upper bits of the product depend on all bits of the address.
        return static_cast<std::size_t>((reinterpret_cast<std::uintptr_t>(start) * 0x9E3779B97F4A7C15U) >> 32);
    }
    static void free(chain *gone) noexcept {
        if (gone != nullptr) {
            gone->~chain();
            block_pool::give(chain_class, gone);
        }
    }

    [[gnu::noinline]] chain &add(const void *start) {
        if ((used_ + 1) * 2 > capacity_)
            rebuild(1);
        chain *const made = new (block_pool::take(chain_class, sizeof(chain))) chain;
        made->start = start;
        put(made);
        return *made;
    }
    void put(chain *added) noexcept {
        std::size_t i = hash(added->start) & (capacity_ - 1);
        while (slots_[i] != nullptr)
            i = (i + 1) & (capacity_ - 1);
        slots_[i] = added;
        ++used_;
    }
    // Only the thread that submits adds to an empty chain, so that stays empty. Chains of the task that is being submitted
    // may be empty yet.
    bool in_use(const chain &one) const noexcept {
        return one.submission == submission_ || one.last.load(std::memory_order_acquire) != nullptr;
    }
    void rebuild(std::size_t more) {
        std::size_t live = more;
        for (std::size_t i = 0; i < capacity_; ++i)
            live += slots_[i] != nullptr && in_use(*slots_[i]) ? 1 : 0;
        std::size_t wanted = least;
        while (wanted < 4 * live)
            wanted *= 2;
        auto fresh = std::make_unique<chain *[]>(wanted);
        const std::size_t before = capacity_;
        fresh.swap(slots_);
        capacity_ = wanted;
        used_ = 0;
        for (std::size_t i = 0; i < before; ++i) {
            chain *const one = fresh[i];
            if (one == nullptr)
                continue;
            // Those that have become empty meanwhile still fit.
            if (in_use(*one))
                put(one);
            else
                free(one);
        }
    }

    std::unique_ptr<chain *[]> slots_;
    std::size_t capacity_ = 0; // a power of two, or 0
    std::size_t used_ = 0;
    std::uint64_t submission_ = 0;
};

} // namespace thence::dataflow
