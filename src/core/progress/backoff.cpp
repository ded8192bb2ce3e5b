// SPDX-License-Identifier: BSD-3-Clause
#include "core/progress/backoff.hpp"

#include "core/base/spin_lock.hpp"
#include "core/progress/clock.hpp"

#include <algorithm>
#include <sched.h>
#include <sys/prctl.h>
#include <time.h>

namespace thence::progress {

namespace {

constexpr nanoseconds yields_for = 100'000;
// Two polls with a yield between them take a few microseconds, unless another thread has run meanwhile.
constexpr nanoseconds long_yield = 50'000;
constexpr nanoseconds shortest_sleep = 1'000;
constexpr nanoseconds part = 8;                 // of the time waited: the length of a sleep
constexpr nanoseconds most_learnt = 10'000'000; // one long wait does not hide the short ones for ever

nanoseconds now() noexcept {
    return read_clock(CLOCK_MONOTONIC);
}

// How long to yield before the first sleep.
nanoseconds yield_time(nanoseconds usual) noexcept {
    return usual <= yields_for ? yields_for : yields_for * yields_for / usual;
}

// By default the system may let a thread sleep 50 us longer than asked for, to wake several at once.
void sleep(nanoseconds time) noexcept {
    const int slack = prctl(PR_GET_TIMERSLACK);
    const bool too_much = slack > time / part;
    if (too_much) {
        prctl(PR_SET_TIMERSLACK, static_cast<unsigned long>(time / part));
    }
    const timespec length{time / 1'000'000'000, static_cast<long>(time % 1'000'000'000)};
    nanosleep(&length, nullptr);
    if (too_much) {
        prctl(PR_SET_TIMERSLACK, static_cast<unsigned long>(slack));
    }
}

} // namespace

// `misses` is at most `spins` while the thread spins, `spins` + 1 while it yields, and `spins` + 2 while it sleeps. It is
// more if `spins` has been made less meanwhile, so `since`, which is 0 before the first yield, says whether there was one.
nanoseconds next_pause(thence_backoff &backoff) noexcept {
    if (backoff.misses < backoff.spins) {
        ++backoff.misses;
        return -1;
    }
    const nanoseconds time = now();
    if (backoff.misses == backoff.spins || backoff.since == 0) {
        backoff.misses = backoff.spins + 1;
        backoff.shared = 0;
        backoff.since = time;
        backoff.yielded = time;
        return 0;
    }
    const nanoseconds waited = time - backoff.since;
    if (backoff.misses == backoff.spins + 1) {
        backoff.shared = time - backoff.yielded >= long_yield ? 1 : 0;
        if (backoff.shared == 0 && waited < yield_time(backoff.usual)) {
            backoff.yielded = time;
            return 0;
        }
        ++backoff.misses;
    }
    return std::clamp(std::max(waited, backoff.usual) / part, shortest_sleep,
                      std::max(shortest_sleep, backoff.longest));
}

bool pause(thence_backoff &backoff) noexcept {
    const nanoseconds time = next_pause(backoff);
    if (time < 0) {
        base::cpu_relax();
    } else if (time == 0) {
        sched_yield();
    } else {
        sleep(time);
    }
    return time > 0;
}

void found_after_pauses(thence_backoff &backoff) noexcept {
    const nanoseconds waited = backoff.since == 0 ? 0 : std::min(now() - backoff.since, most_learnt);
    const nanoseconds change = waited - backoff.usual;
    backoff.usual += change < 0 ? (change - (part - 1)) / part : change / part; // it can become 0
    backoff.misses = 0;
    backoff.since = 0;
}

} // namespace thence::progress
