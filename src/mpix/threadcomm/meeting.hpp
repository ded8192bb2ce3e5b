// SPDX-License-Identifier: BSD-3-Clause
// Collectives between the ranks of one process without messages: each rank writes what it brings into a place of its own,
// raises a number there, and reads the places of the others.
//
// Each collective is a round, and all ranks take part in the same rounds in the same order, as MPI demands of collective
// calls. In round k a rank
//   1. waits until all others have come to round k - 1,
//   2. writes what it brings into the half k mod 2 of its place,
//   3. comes to round k: it sets its number to k,
//   4. waits until those that it reads have come to round k, and reads their halves k mod 2.
//
// Invariant: nothing is written while it may be read. What a rank overwrites in round k was read in round k - 2, by ranks
// that have come to round k - 1 since, and step 1 has waited for them. So a root is at most one round ahead of any other
// rank. tests/model/threadcomm_meeting.pml checks this.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace thence::threadcomm {

class meeting {
public:
    static constexpr std::size_t most_bytes = 256;
    struct contribution {
        std::uint64_t bytes = 0;
        bool inside = false; // the data are here
        // Reductions may copy the padding at the end of an element, which is no data and which few elements have.
        alignas(64) std::array<unsigned char, most_bytes + 64> data{};
    };

    explicit meeting(int ranks) : places_(new place[static_cast<std::size_t>(ranks)]), ranks_(ranks) {}

    // Steps 1 to 4, each by the thread of `rank`.
    contribution &begin(int rank) noexcept; // to be filled
    void come(int rank) noexcept;
    const contribution &read(int rank, int other) noexcept;
    void wait_for_all(int rank) noexcept;

    int ranks() const noexcept { return ranks_; }

private:
    struct alignas(64) place {
        std::atomic<std::uint64_t> number{0};
        std::uint64_t all_at = 0; // all had come to this round when this rank looked last; of this rank only
        std::array<contribution, 2> halves;
    };
    place &at(int rank) noexcept { return places_[static_cast<std::size_t>(rank)]; }
    void wait_for(int other, std::uint64_t round) noexcept;
    void wait_for_all_at(place &mine, std::uint64_t round) noexcept;

    std::unique_ptr<place[]> places_;
    const int ranks_;
};

} // namespace thence::threadcomm
