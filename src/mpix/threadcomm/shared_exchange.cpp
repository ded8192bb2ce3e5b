// SPDX-License-Identifier: BSD-3-Clause
#include "mpix/threadcomm/shared_exchange.hpp"

#include "mpix/messages/waiting.hpp"

namespace thence::threadcomm {

void shared_exchange::wait_for(int other, std::uint64_t epoch) noexcept {
    for (messages::waiting wait; at(other).number.load(std::memory_order_acquire) < epoch; wait()) {
    }
}

void shared_exchange::wait_for_epoch(slot &mine, std::uint64_t epoch) noexcept {
    if (mine.all_arrived_at < epoch) {
        for (int other = 0; other < ranks_; ++other) {
            wait_for(other, epoch);
        }
        mine.all_arrived_at = epoch;
    }
}

shared_exchange::contribution &shared_exchange::begin(int rank) noexcept {
    slot &mine = at(rank);
    const std::uint64_t last = mine.number.load(std::memory_order_relaxed);
    wait_for_epoch(mine, last);
    return mine.buffers[(last + 1) % 2];
}

void shared_exchange::arrive(int rank) noexcept {
    slot &mine = at(rank);
    mine.number.store(mine.number.load(std::memory_order_relaxed) + 1, std::memory_order_release);
}

const shared_exchange::contribution &shared_exchange::read(int rank, int other) noexcept {
    const std::uint64_t epoch = at(rank).number.load(std::memory_order_relaxed);
    wait_for(other, epoch);
    return at(other).buffers[epoch % 2];
}

void shared_exchange::wait_for_all(int rank) noexcept {
    slot &mine = at(rank);
    wait_for_epoch(mine, mine.number.load(std::memory_order_relaxed));
}

} // namespace thence::threadcomm
