// SPDX-License-Identifier: BSD-3-Clause
#include "mpix/messages/blocks.hpp"

#include "core/base/per_thread.hpp"
#include "core/base/pool.hpp"

namespace thence::messages {

namespace {

// Never destroyed: threads may end after the statics of the process.
base::pool<block> &all() noexcept {
    static auto *const pool = new base::pool<block>;
    return *pool;
}
using cache = base::per_thread<base::thread_cache<block>>;

// Without memory for a cache, the other blocks of a batch go back at once.
template <class Function> auto with_cache(Function &&use) noexcept {
    if (base::thread_cache<block> *const mine = cache::get(); mine != nullptr) [[likely]] {
        return use(*mine);
    }
    struct returned : base::thread_cache<block> {
        ~returned() { all().retire(*this); }
    } none{};
    return use(none);
}

} // namespace

block *take_block() noexcept {
    return with_cache([](auto &mine) { return all().take(mine); });
}

void give_block(block *given) noexcept {
    with_cache([given](auto &mine) { all().give(mine, given); });
}

void retire_blocks() noexcept {
    if (base::thread_cache<block> *const mine = cache::existing(); mine != nullptr) {
        all().retire(*mine);
    }
}

} // namespace thence::messages
