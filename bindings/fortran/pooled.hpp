// SPDX-License-Identifier: BSD-3-Clause
// Blocks for the callback and the context of a continuation, from a pool, so that nothing is allocated in steady state.
// A block may be given back on another thread than it was taken on.
//
// Invariant: a block is in the list of one thread, in the shared list, or in use. A thread whose list is long moves
// half of it to the shared list, so blocks that one thread takes and another gives back circulate. Blocks are never
// freed.
#pragma once

namespace thence::fortran {

// The first part of what the library gets as `data`, as module.inc has it.
struct attached {
    void (*procedure)();
    void *context;
};

struct block {
    attached callback;
    block *next;
};

// Null when memory is exhausted.
block *take_block_slowly() noexcept;
void share_half() noexcept;

struct blocks_of_thread {
    block *first;
    long count;
};
extern constinit thread_local blocks_of_thread own_blocks;
inline constexpr long most_own_blocks = 128;

inline block *take_block() noexcept {
    block *const first = own_blocks.first;
    if (first == nullptr) [[unlikely]] {
        return take_block_slowly();
    }
    own_blocks.first = first->next;
    --own_blocks.count;
    return first;
}

inline void give_back(block *used) noexcept {
    used->next = own_blocks.first;
    own_blocks.first = used;
    if (++own_blocks.count > most_own_blocks) [[unlikely]] {
        share_half();
    }
}

} // namespace thence::fortran
