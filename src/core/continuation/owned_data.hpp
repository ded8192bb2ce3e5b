// SPDX-License-Identifier: BSD-3-Clause
// Memory for data of callbacks that belongs to the library (thence_attach_copy()). Small blocks come from a pool, so in
// steady state nothing is allocated. A block may be released on another thread than it was made on.
#pragma once

#include "core/base/pool.hpp"

#include <cstddef>

namespace thence::continuation {

// `next` is the link of the pool. `pooled` is false for a larger block, which has the same header.
struct alignas(64) data_block {
    data_block *next;
    bool pooled;
    alignas(std::max_align_t) unsigned char bytes[112];
};
static_assert(sizeof(data_block) == 128);

// Returns a copy of `size` bytes, aligned for any type; null if memory is exhausted. Release it with release_data().
void *copy_data(const void *data, std::size_t size) noexcept;
void release_data(void *copy) noexcept;

extern base::pool<data_block> data_blocks;

} // namespace thence::continuation
