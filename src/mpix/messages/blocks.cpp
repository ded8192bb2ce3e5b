// SPDX-License-Identifier: BSD-3-Clause
#include "mpix/messages/blocks.hpp"

#include "core/base/pool.hpp"

namespace thence::messages {

namespace {

// Never destroyed: threads may end after the statics of the process.
base::pool<block> &all() noexcept {
    static auto *const pool = new base::pool<block>;
    return *pool;
}
thread_local constinit base::thread_cache<block> cache{};

} // namespace

block *take_block() noexcept {
    return all().take(cache);
}

void give_block(block *given) noexcept {
    all().give(cache, given);
}

void retire_blocks() noexcept {
    all().retire(cache);
}

} // namespace thence::messages
