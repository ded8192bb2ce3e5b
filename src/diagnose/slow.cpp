// SPDX-License-Identifier: BSD-3-Clause
#include "diagnose/slow.hpp"

#include "diagnose/lane.hpp"
#include "diagnose/place.hpp"
#include "diagnose/self.hpp"

#include <algorithm>
#include <climits>
#include <cstdio>
#include <map>
#include <mutex>
#include <new>
#include <string>
#include <utility>

namespace thence::diagnose {

namespace {

std::uint64_t limit_ns = 0;

using callback_at = std::pair<const void *, const void *>; // callback, and where it was attached

// How long a callback has to take to be told of again.
bool worth_telling(const callback_at &which, std::uint64_t took) {
    static std::mutex mutex;
    static auto *told = new std::map<callback_at, std::uint64_t>; // never destroyed: callbacks run until the end
    const std::scoped_lock guard(mutex);
    std::uint64_t &longest = (*told)[which];
    if (took < 2 * longest) {
        return false;
    }
    longest = took;
    return true;
}

void tell(const callback_at &which, std::uint64_t took) {
    const std::vector<place> places = find_places({{which.first, false}, {which.second, true}});
    const lane &here = this_lane();
    char time[32];
    std::snprintf(time, sizeof time, "%.1f ms", static_cast<double>(took) * 1e-6);
    say("slow continuation: " + places[0].text() + " ran for " + time + " on thread " + std::to_string(here.thread) +
        " (" + here.name + "), attached at " + places[1].text() +
        "\n  no other continuation ran on this thread meanwhile, and it made no progress; let long work run in a task "
        "of "
        "your runtime, or on a pool (thence/pools.hpp, a mode without inline-completion)\n");
}

} // namespace

void tell_of_callbacks_longer_than(std::chrono::milliseconds limit) noexcept {
    limit_ns = static_cast<std::uint64_t>(limit.count()) * 1000000;
}

bool times_callbacks() noexcept {
    return limit_ns != 0;
}

int slow_ms() noexcept {
    return static_cast<int>(std::min<std::uint64_t>(limit_ns / 1000000, INT_MAX));
}

void note_callback(const void *where, continuation::any_function callback, std::uint64_t started, std::uint64_t ended) {
    if (limit_ns == 0 || ended - started < limit_ns) {
        return;
    }
    const callback_at which{reinterpret_cast<const void *>(callback), where};
    try {
        if (worth_telling(which, ended - started)) {
            tell(which, ended - started);
        }
    } catch (const std::bad_alloc &) {
        say("slow continuation: one ran for longer than THENCE_SLOW_CONTINUATION; no memory to say more\n");
    }
}

} // namespace thence::diagnose
