// SPDX-License-Identifier: BSD-3-Clause
// The targets of a window to which accesses are outstanding: a set of ranks that threads change without a lock.
//
// A rank, which is not below 0, is one bit. The bits lie in blocks of 1, 2, 4, ... words, each made when the first rank
// of it comes, and kept until the set is destroyed. Invariant: each rank is added and taken alternately, so the results
// of add() minus those of take() and take_all() are the number of ranks in the set.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

namespace thence::interpose {

class target_set {
public:
    target_set() = default;
    ~target_set() {
        for (std::atomic<word *> &each : blocks_) {
            delete[] each.load(std::memory_order_relaxed);
        }
    }
    target_set(const target_set &) = delete;
    target_set &operator=(const target_set &) = delete;

    // Takes the cache line from no other thread.
    bool has(int rank) const noexcept {
        const bit_position at(rank);
        const word *const block = blocks_[at.block].load(std::memory_order_acquire);
        return block != nullptr && (block[at.index].load(std::memory_order_relaxed) & at.bit) != 0;
    }
    // @return false if it was there, or if there is no memory.
    bool add(int rank) noexcept {
        const bit_position at(rank);
        word *block = blocks_[at.block].load(std::memory_order_acquire);
        block = block != nullptr ? block : make(at.block);
        return block != nullptr && (block[at.index].fetch_or(at.bit, std::memory_order_acq_rel) & at.bit) == 0;
    }
    // @return whether it was there. One below 0, such as MPI_PROC_NULL, never is.
    bool take(int rank) noexcept {
        if (rank < 0) {
            return false;
        }
        const bit_position at(rank);
        word *const block = blocks_[at.block].load(std::memory_order_acquire);
        return block != nullptr && (block[at.index].fetch_and(~at.bit, std::memory_order_acq_rel) & at.bit) != 0;
    }
    // @return how many there were.
    long take_all() noexcept {
        long taken = 0;
        for (std::size_t b = 0; b < blocks_.size(); ++b) {
            word *const block = blocks_[b].load(std::memory_order_acquire);
            for (std::size_t i = 0; block != nullptr && i < words_in(b); ++i) {
                if (block[i].load(std::memory_order_relaxed) != 0) {
                    taken += std::popcount(block[i].exchange(0, std::memory_order_acq_rel));
                }
            }
        }
        return taken;
    }

private:
    using word = std::atomic<std::uint64_t>;
    static constexpr std::size_t bits_of_word = 64;
    static constexpr std::size_t most_blocks = 26; // for 2^31 ranks

    // Block b begins with word 2^b - 1 of all.
    struct bit_position {
        explicit bit_position(int rank) noexcept {
            const std::size_t number = static_cast<unsigned>(rank) / bits_of_word + 1;
            block = static_cast<std::size_t>(std::bit_width(number)) - 1;
            index = number - words_in(block);
            bit = std::uint64_t{1} << (static_cast<unsigned>(rank) % bits_of_word);
        }
        std::size_t block;
        std::size_t index;
        std::uint64_t bit;
    };
    static constexpr std::size_t words_in(std::size_t block) noexcept { return std::size_t{1} << block; }

    [[gnu::noinline]] word *make(std::size_t block) noexcept {
        std::unique_ptr<word[]> made(new (std::nothrow) word[words_in(block)]());
        word *before = nullptr;
        if (made != nullptr && blocks_[block].compare_exchange_strong(before, made.get(), std::memory_order_acq_rel)) {
            return made.release();
        }
        return before; // another thread was first, or there is no memory
    }

    std::array<std::atomic<word *>, most_blocks> blocks_{};
};

} // namespace thence::interpose
