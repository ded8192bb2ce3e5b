// SPDX-License-Identifier: BSD-3-Clause
// Which queue of a group the threads on a processor take. Processors have positions, those of one NUMA node beside each
// other, and neighbours share a queue where there are fewer queues. It asks the system nothing, so that a test may have
// more nodes than a machine has.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace thence::tagaspi {

struct placed_processor {
    int node;
    std::size_t processor;
};

// Afterwards the index of a processor is its position.
inline void sort_by_node(std::span<placed_processor> all) noexcept {
    std::ranges::sort(all, [](const placed_processor &a, const placed_processor &b) {
        return a.node != b.node ? a.node < b.node : a.processor < b.processor;
    });
}

// Of `queues`, for a position among so many.
constexpr unsigned queue_of_position(unsigned position, unsigned positions, unsigned queues) noexcept {
    const unsigned which =
        positions > queues ? static_cast<unsigned>(std::uint64_t{position} * queues / positions) : position;
    return std::min(which, queues - 1); // a processor may be added meanwhile
}

} // namespace thence::tagaspi
