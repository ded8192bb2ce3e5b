// SPDX-License-Identifier: BSD-3-Clause
// Memory of tasks: blocks of a few sizes. In steady state nothing is allocated. A thread takes no lock while it takes
// blocks that it gave back. Memory goes back to the system when many blocks are free.
//
// A thread keeps a cache of blocks of each size. It gets them from chunks, and gives them back there, by tens. A chunk
// has blocks of one size; when all its blocks are back, it is released, but for a few spare ones.
//
// Invariant: a block is in exactly one of: its chunk's list, a thread's cache, its user's hands. Chunks are released
// under the lock, and for_each() holds it, so a visitor may look at blocks whatever they are used for.
#pragma once

#include <cstddef>

namespace thence::dataflow {

class block_pool {
public:
    static constexpr std::size_t smallest = 64;
    static constexpr int sizes = 7; // 64 to 4096; larger blocks are allocated one by one
    static constexpr std::size_t largest = smallest << (sizes - 1);

    // The size class for so many bytes. `sizes` if they are too many for one.
    static constexpr int size_class(std::size_t bytes) noexcept {
        int found = 0;
        for (std::size_t size = smallest; size < bytes && found < sizes; size *= 2) {
            ++found;
        }
        return found;
    }

    // Aligned to 64 bytes. `bytes` matters only for the class `sizes`. Throws std::bad_alloc.
    static void *take(int size_class, std::size_t bytes);
    static void give(int size_class, void *block) noexcept;

    // Bytes that chunks and large blocks occupy now.
    static std::size_t held() noexcept;
    // Calls `visit(block, data)` for each block of at least `bytes` bytes: those in use and the free ones. Of a block
    // that has not been used yet the bytes are 0; while it is free, the first pointer is overwritten.
    static void for_each(std::size_t bytes, void (*visit)(void *block, void *data), void *data);
};

} // namespace thence::dataflow
