// SPDX-License-Identifier: BSD-3-Clause
#include "run.hpp"

namespace qr {

Blocks::Blocks(const Sequence &s, int rank) : memory_(static_cast<std::size_t>(s.blocks())) {
    const auto make = [&](int block) {
        auto &memory = memory_[static_cast<std::size_t>(block)];
        if (memory == nullptr) {
            memory = std::make_unique<double[]>(s.bytes(block) / sizeof(double));
        }
        return memory.get();
    };
    for (int i = 0; i < s.shape.tile_rows(); ++i) {
        for (int j = 0; j < s.shape.tile_columns(); ++j) {
            if (s.shape.owner(i, j) == rank) {
                [[maybe_unused]] double *const tile = make(s.tile(i, j));
                if constexpr (!apps::simulated) { // where nothing is computed
                    fill(s.shape, i, j, tile);
                }
            }
        }
    }
    for (const Task &task : s.tasks) {
        for (const Use &use : s.uses(task)) {
            if (task.rank == rank) {
                make(use.block);
            }
        }
    }
}

} // namespace qr
