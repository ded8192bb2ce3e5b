// SPDX-License-Identifier: BSD-3-Clause
#include "mpix/threadcomm/meeting.hpp"

#include "mpix/messages/waiting.hpp"

namespace thence::threadcomm {

void meeting::wait_for(int other, std::uint64_t round) noexcept {
    for (messages::waiting wait; at(other).number.load(std::memory_order_acquire) < round; wait()) {
    }
}

void meeting::wait_for_all_at(place &mine, std::uint64_t round) noexcept {
    if (mine.all_at < round) {
        for (int other = 0; other < ranks_; ++other) {
            wait_for(other, round);
        }
        mine.all_at = round;
    }
}

meeting::contribution &meeting::begin(int rank) noexcept {
    place &mine = at(rank);
    const std::uint64_t last = mine.number.load(std::memory_order_relaxed);
    wait_for_all_at(mine, last);
    return mine.halves[(last + 1) % 2];
}

void meeting::come(int rank) noexcept {
    place &mine = at(rank);
    mine.number.store(mine.number.load(std::memory_order_relaxed) + 1, std::memory_order_release);
}

const meeting::contribution &meeting::read(int rank, int other) noexcept {
    const std::uint64_t round = at(rank).number.load(std::memory_order_relaxed);
    wait_for(other, round);
    return at(other).halves[round % 2];
}

void meeting::wait_for_all(int rank) noexcept {
    place &mine = at(rank);
    wait_for_all_at(mine, mine.number.load(std::memory_order_relaxed));
}

} // namespace thence::threadcomm
