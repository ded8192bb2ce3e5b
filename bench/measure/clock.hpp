// SPDX-License-Identifier: BSD-3-Clause
// Clocks for benchmarks that measure latencies, in nanoseconds.
#pragma once

#include <sys/resource.h>
#include <time.h>

namespace measure {

using nanoseconds = long long;

inline nanoseconds read_clock(clockid_t which) {
    timespec t{};
    clock_gettime(which, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}
inline nanoseconds now() {
    return read_clock(CLOCK_MONOTONIC);
}

// That of all threads of the process.
inline nanoseconds processor_time() {
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    const auto in_ns = [](const timeval &t) { return t.tv_sec * 1000000000LL + t.tv_usec * 1000LL; };
    return in_ns(used.ru_utime) + in_ns(used.ru_stime);
}

inline nanoseconds processor_time_of_thread() {
    return read_clock(CLOCK_THREAD_CPUTIME_ID);
}

inline void sleep_for(nanoseconds time) {
    const timespec pause{static_cast<time_t>(time / 1000000000LL), static_cast<long>(time % 1000000000LL)};
    nanosleep(&pause, nullptr);
}

} // namespace measure
