// SPDX-License-Identifier: BSD-3-Clause
#include "onesided/wire/sequence.hpp"

#include "onesided/wire/transport.hpp"

#include <algorithm>
#include <exception>
#include <utility>

namespace thence::wire {

sequence::~sequence() {
    while (held_ != nullptr) {
        give_packet(std::exchange(held_, held_->next));
    }
}

bool sequence::begin(int processes) noexcept {
    try {
        of_process_.resize(static_cast<std::size_t>(processes));
        return true;
    } catch (const std::exception &) {
        return false;
    }
}

void sequence::hand_on(packet &p) noexcept {
    numbers &counted = of_process_[static_cast<std::size_t>(p.process)];
    ++counted.handed_on;
    counted.end = std::max(counted.end, p.head.number + 1);
    to_.arrived(p);
}

void sequence::received(packet &p, bool any_late) noexcept {
    if (!any_late) [[likely]] {
        hand_on(p);
        return;
    }
    const int process = p.process;
    p.next = std::exchange(held_, &p);
    while (packet *const next = take_next(process, false)) {
        hand_on(*next);
    }
}

// Takes the packet of a process with the lowest number, if it may be handed on. Null: there is none.
packet *sequence::take_next(int process, bool may_skip) noexcept {
    const numbers &counted = of_process_[static_cast<std::size_t>(process)];
    packet **lowest = nullptr;
    std::uint64_t below_end = 0;
    for (packet **link = &held_; *link != nullptr; link = &(*link)->next) {
        const packet &each = **link;
        if (each.process == process) {
            below_end += each.head.number < counted.end ? 1 : 0;
            lowest = lowest == nullptr || each.head.number < (*lowest)->head.number ? link : lowest;
        }
    }
    const auto nothing_is_missing = [&] {
        return counted.handed_on + below_end == counted.end && (*lowest)->head.number <= counted.end;
    };
    if (lowest == nullptr || !(may_skip || nothing_is_missing())) {
        return nullptr;
    }
    packet *const taken = *lowest;
    *lowest = taken->next;
    return taken;
}

void sequence::none_is_late() noexcept {
    while (held_ != nullptr) {
        hand_on(*take_next(held_->process, true));
    }
}

} // namespace thence::wire
