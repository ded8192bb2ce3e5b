// SPDX-License-Identifier: BSD-3-Clause
#include "core/progress/backoff.hpp"

#include "core/base/clock.hpp"
#include "core/base/processors.hpp"
#include "core/base/spin_lock.hpp"

#include <algorithm>
#include <atomic>
#include <sys/prctl.h>
#include <time.h>

namespace thence::progress {

namespace {

using base::nanoseconds;

constexpr nanoseconds spins_for = 50'000;
// A poll that finds nothing takes a few microseconds, and a sleep ends a few microseconds late, unless another thread
// runs.
constexpr nanoseconds lost_processor = 500'000;
constexpr nanoseconds shared_spins_for = 10'000;
constexpr nanoseconds shared_sleep = 20'000;  // about a fifth of a processor
constexpr nanoseconds careful_sleep = 30'000; // about a sixth of a processor
constexpr nanoseconds careful_for = 16;       // times as long as the processor was assumed to be shared, after that
constexpr nanoseconds shortest_sleep = 3'000; // a shorter one ends before the thread has left its processor
constexpr nanoseconds longest_if_taken = 100'000;
// A sleep where processors are taken: a thread uses a fifth of a processor. If more threads of the process than there
// are processors sleep, they use a fifth of all processors together: else to wake them would take all processors.
constexpr nanoseconds times_its_cost = 4;
constexpr nanoseconds part = 8;                 // of the time waited: the length of a sleep
constexpr nanoseconds most_learnt = 10'000'000; // one long wait does not hide the short ones for ever
constexpr nanoseconds ms = 1'000'000;
constexpr std::uint32_t shared_at_first = 40; // milliseconds
constexpr std::uint32_t shared_at_most = 320;

// How long to spin before the first sleep.
nanoseconds spin_time(nanoseconds usual) noexcept {
    return usual <= spins_for ? spins_for : spins_for * spins_for / usual;
}

// Sees whether the thread has waited for its processor since the last pause. Threads come and go, so after some time it
// is assumed to be alone again. If it waits for its processor soon after that, the next time is twice as long.
void see_whether_shared(thence_backoff &backoff, nanoseconds time, base::waits_for_processor *waits) noexcept {
    if (time - backoff.due <= lost_processor) {
        if (waits != nullptr) {
            waits->look(time);
        }
    } else if (waits == nullptr || waits->was_one(time)) {
        const bool again = time - backoff.shared < nanoseconds{2} * backoff.shared_ms * ms;
        backoff.shared_ms = again ? std::min(2 * backoff.shared_ms, shared_at_most) : shared_at_first;
        backoff.shared = time + backoff.shared_ms * ms;
    }
}

nanoseconds least_sleep(const thence_backoff &backoff, nanoseconds time) noexcept {
    return time < backoff.shared ? shared_sleep : is_alone(backoff, time) ? shortest_sleep : careful_sleep;
}

// The processor time of a sleep: 2 to 25 microseconds, on virtual machines most. One in 16 is measured.
std::atomic<nanoseconds> sleep_cost{0};
std::atomic<unsigned> sleeps{0};
std::atomic<long> asleep{0}; // threads of this process

#if !defined(SMPI_H)
// By default the system may let a thread sleep 50 us longer than asked for, to wake several at once.
void sleep(nanoseconds time) noexcept {
    const int slack = prctl(PR_GET_TIMERSLACK);
    const bool too_much = slack > time / part;
    if (too_much) {
        prctl(PR_SET_TIMERSLACK, static_cast<unsigned long>(time / part));
    }
    const timespec length{time / 1'000'000'000, static_cast<long>(time % 1'000'000'000)};
    const bool measures = sleeps.fetch_add(1, std::memory_order_relaxed) % 16 == 0;
    const nanoseconds before = measures ? base::read_clock(CLOCK_THREAD_CPUTIME_ID) : 0;
    asleep.fetch_add(1, std::memory_order_relaxed);
    nanosleep(&length, nullptr);
    asleep.fetch_sub(1, std::memory_order_relaxed);
    if (measures) {
        sleep_cost.store(base::read_clock(CLOCK_THREAD_CPUTIME_ID) - before, std::memory_order_relaxed);
    }
    if (too_much) {
        prctl(PR_SET_TIMERSLACK, static_cast<unsigned long>(slack));
    }
}
#endif

} // namespace

bool is_alone(const thence_backoff &backoff, nanoseconds time) noexcept {
    return time - backoff.shared >= careful_for * backoff.shared_ms * ms;
}

// `misses` is at most `spins` while the thread spins without pauses, then `spins` + 1. It is more if `spins` has been
// made less meanwhile, so `since`, which is 0 before the first pause, says whether there was one.
nanoseconds next_pause(thence_backoff &backoff, base::waits_for_processor *waits) noexcept {
    if (backoff.misses < backoff.spins) {
        ++backoff.misses;
        return -1;
    }
    const nanoseconds time = base::read_clock();
    if (backoff.misses == backoff.spins || backoff.since == 0) {
        backoff.misses = backoff.spins + 1;
        backoff.since = time;
    } else {
        see_whether_shared(backoff, time, waits);
    }
    const nanoseconds waited = time - backoff.since;
    if (waited < (time < backoff.shared ? shared_spins_for : spin_time(backoff.usual))) {
        backoff.due = time;
        return 0;
    }
    return sleep_from(backoff, time, std::max(waited, backoff.usual) / part, backoff.longest);
}

nanoseconds sleep_from(thence_backoff &backoff, nanoseconds time, nanoseconds wanted, nanoseconds longest) noexcept {
    const nanoseconds most = std::max(shortest_sleep, longest);
    nanoseconds length = std::clamp(wanted, std::min(least_sleep(backoff, time), most), most);
    if (base::processors_are_taken(time)) {
        const nanoseconds for_one = times_its_cost * sleep_cost.load(std::memory_order_relaxed);
        const nanoseconds threads_each = 1 + asleep.load(std::memory_order_relaxed) / base::processors();
        length = std::max(length, threads_each * std::min(for_one, longest_if_taken));
    }
    backoff.due = time + length;
    return length;
}

#if defined(SMPI_H)
// All simulated ranks share one thread of the machine, so each would sleep for all others. Polls themselves wait in
// simulated time (core/mpi/simulated.cpp).
bool pause(thence_backoff &) noexcept {
    return false;
}
#else
bool pause(thence_backoff &backoff) noexcept {
    const nanoseconds time = next_pause(backoff);
    if (time > 0) {
        sleep(time);
    } else {
        base::cpu_relax();
    }
    return time > 0;
}
#endif

void found_after_pauses(thence_backoff &backoff) noexcept {
    const nanoseconds waited = backoff.since == 0 ? 0 : std::min(base::read_clock() - backoff.since, most_learnt);
    const nanoseconds change = waited - backoff.usual;
    backoff.usual += change < 0 ? (change - (part - 1)) / part : change / part; // it can become 0
    backoff.misses = 0;
    backoff.since = 0;
}

} // namespace thence::progress
