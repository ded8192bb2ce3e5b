// SPDX-License-Identifier: BSD-3-Clause
#include "core/continuation/owned_data.hpp"

#include "core/continuation/thread_state.hpp"

#include <cstdint>
#include <cstring>
#include <new>

namespace thence::continuation {

base::pool<data_block> data_blocks;

namespace {

constexpr std::size_t header_bytes = offsetof(data_block, bytes);
constexpr std::align_val_t alignment{alignof(data_block)};

data_block *take(std::size_t size) noexcept {
    if (size <= sizeof data_block::bytes) {
        // So that its cache returns to the pool when it ends.
        if (!this_thread.enlisted() && !enlist_this_thread()) [[unlikely]] {
            return nullptr;
        }
        data_block *block = data_blocks.take(this_thread.data_cache);
        if (block != nullptr) {
            block->pooled = true;
        }
        return block;
    }
    auto *block = size <= SIZE_MAX - header_bytes
                      ? static_cast<data_block *>(::operator new(header_bytes + size, alignment, std::nothrow))
                      : nullptr;
    if (block != nullptr) {
        block->pooled = false;
    }
    return block;
}

} // namespace

void *copy_data(const void *data, std::size_t size) noexcept {
    data_block *block = take(size);
    if (block == nullptr) {
        return nullptr;
    }
    return std::memcpy(reinterpret_cast<unsigned char *>(block) + header_bytes, data, size);
}

void release_data(void *copy) noexcept {
    auto *block = reinterpret_cast<data_block *>(static_cast<unsigned char *>(copy) - header_bytes);
    if (block->pooled) {
        data_blocks.give(this_thread.data_cache, block);
    } else {
        ::operator delete(block, alignment);
    }
}

} // namespace thence::continuation
