// SPDX-License-Identifier: BSD-3-Clause
#include "pooled.hpp"

#include <cstdlib>
#include <mutex>

namespace thence::fortran {

constinit thread_local blocks_of_thread own_blocks{nullptr, 0};

namespace {

std::mutex mutex; // guards what follows
block *shared = nullptr;

// Moves `count` blocks of this thread to the shared list.
void share(long count) noexcept {
    const std::scoped_lock guard(mutex);
    for (; count > 0 && own_blocks.first != nullptr; --count) {
        block *const moved = own_blocks.first;
        own_blocks.first = moved->next;
        --own_blocks.count;
        moved->next = shared;
        shared = moved;
    }
}

// When a thread ends, its blocks go to the others.
struct sharing_at_exit {
    ~sharing_at_exit() { share(own_blocks.count); }
    void enlist() noexcept {} // makes the thread construct it, so that it is destroyed at its end
};
thread_local sharing_at_exit at_exit;

} // namespace

block *take_block_slowly() noexcept {
    at_exit.enlist();
    {
        const std::scoped_lock guard(mutex);
        for (long taken = 0; taken < most_own_blocks / 2 && shared != nullptr; ++taken) {
            block *const moved = shared;
            shared = moved->next;
            moved->next = own_blocks.first;
            own_blocks.first = moved;
            ++own_blocks.count;
        }
    }
    if (own_blocks.first == nullptr) {
        return static_cast<block *>(std::malloc(sizeof(block)));
    }
    return take_block();
}

void share_half() noexcept {
    at_exit.enlist();
    share(most_own_blocks / 2);
}

} // namespace thence::fortran
