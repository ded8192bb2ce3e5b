// SPDX-License-Identifier: BSD-3-Clause
// Collectives between the ranks of one process without messages: each rank has a slot in memory that all share. It
// writes its contribution there, increases the number of the slot, and reads the slots of the others.
//
// Each collective is an epoch, and all ranks take part in the same epochs in the same order, as MPI demands of
// collective calls. In epoch k a rank
//   1. waits until all others have arrived at epoch k - 1,
//   2. writes its contribution into buffer k mod 2 of its slot,
//   3. arrives at epoch k: it sets its number to k,
//   4. waits until those that it reads have arrived at epoch k, and reads their buffers k mod 2.
//
// Invariant: nothing is written while it may be read. What a rank overwrites in epoch k was read in epoch k - 2, by
// ranks that have arrived at epoch k - 1 since, and step 1 has waited for them. So a root is at most one epoch ahead of
// any other rank. tests/model/threadcomm_exchange.pml checks this.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace thence::threadcomm {

class shared_exchange {
public:
    static constexpr std::size_t most_bytes = 256;
    struct contribution {
        std::uint64_t bytes = 0;
        bool inside = false; // the data are here
        // Reductions may copy the padding at the end of an element, which is no data and which few elements have.
        alignas(64) std::array<unsigned char, most_bytes + 64> data{};
    };

    explicit shared_exchange(int ranks) : slots_(new slot[static_cast<std::size_t>(ranks)]), ranks_(ranks) {}

    // Steps 1 to 4, each by the thread of `rank`.
    contribution &begin(int rank) noexcept; // to be filled
    void arrive(int rank) noexcept;
    const contribution &read(int rank, int other) noexcept;
    void wait_for_all(int rank) noexcept;

    int ranks() const noexcept { return ranks_; }

private:
    struct alignas(64) slot {
        std::atomic<std::uint64_t> number{0};
        std::uint64_t all_arrived_at = 0; // all had come to this round when this rank looked last; of this rank only
        std::array<contribution, 2> buffers;
    };
    slot &at(int rank) noexcept { return slots_[static_cast<std::size_t>(rank)]; }
    void wait_for(int other, std::uint64_t epoch) noexcept;
    void wait_for_epoch(slot &mine, std::uint64_t epoch) noexcept;

    std::unique_ptr<slot[]> slots_;
    const int ranks_;
};

} // namespace thence::threadcomm
