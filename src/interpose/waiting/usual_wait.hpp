// SPDX-License-Identifier: BSD-3-Clause
// How long the calls of this process that wait usually wait under THENCE_WAIT=sleep, and what follows for the next one:
// how long it yields, and how long its sleeps are. A call that tests find complete at once does not count.
#pragma once

#include "core/base/clock.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>

namespace thence::interpose {

// Of base 2, times 256, linear between two powers.
constexpr std::int32_t logarithm_of(base::nanoseconds time) noexcept {
    constexpr base::nanoseconds longest = base::nanoseconds{1} << 40; // 18 minutes
    const auto value = static_cast<std::uint64_t>(std::clamp(time, base::nanoseconds{1}, longest));
    const int power = static_cast<int>(std::bit_width(value)) - 1;
    return (power - 1) * 256 + static_cast<std::int32_t>(value << 8 >> power);
}
constexpr base::nanoseconds length_of(std::int32_t logarithm) noexcept {
    return base::nanoseconds{256 + logarithm % 256} << (logarithm / 256) >> 8;
}

// The average is one of logarithms, in which each wait counts an eighth. So one wait that is a thousand times as long
// or as short as the others changes it by a factor of 2.4. Threads: any; one that overwrites the value of another does
// no harm.
class usual_wait {
public:
    constexpr usual_wait() noexcept = default;
    void learn(base::nanoseconds waited) noexcept {
        const std::int32_t before = logarithm_.load(std::memory_order_relaxed);
        logarithm_.store(before + (logarithm_of(waited) - before) / 8, std::memory_order_relaxed);
    }
    base::nanoseconds length() const noexcept { return length_of(logarithm_.load(std::memory_order_relaxed)); }
    // As when the process began.
    void forget() noexcept { logarithm_.store(at_first, std::memory_order_relaxed); }

private:
    static constexpr std::int32_t at_first = logarithm_of(50'000);
    std::atomic<std::int32_t> logarithm_{at_first};
};

// How long a call yields before it sleeps. Where waits usually are short it yields for several times as long as they
// usually last, since a sleep would make this rank, and those that wait for it, late. Where they are longer, most of
// what it yields is lost, so it yields the less the longer they are.
constexpr base::nanoseconds yield_time(base::nanoseconds usual) noexcept {
    constexpr base::nanoseconds yields_for = 200'000;
    constexpr base::nanoseconds short_wait = 400'000;
    constexpr base::nanoseconds times = 4;
    constexpr base::nanoseconds least = 50'000;
    return usual <= short_wait ? std::max(yields_for, times * usual) : std::max(yields_for * short_wait / usual, least);
}

// The longest sleep of a call that has waited for so long: a thousandth of that, or of the usual wait if that is
// longer. In the latter case a message that comes sooner than usual is found at most a thirty-second part late.
constexpr base::nanoseconds longest_sleep(base::nanoseconds waited, base::nanoseconds usual) noexcept {
    constexpr base::nanoseconds part = 1000;
    constexpr base::nanoseconds part_if_sooner = 32;
    constexpr base::nanoseconds least = 35'000;
    constexpr base::nanoseconds most = 2'000'000;
    return std::clamp(std::max(waited / part, std::min(usual / part, waited / part_if_sooner)), least, most);
}

} // namespace thence::interpose
