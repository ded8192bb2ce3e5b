// SPDX-License-Identifier: BSD-3-Clause
#include "core/progress/helper_log.hpp"

#include "core/progress/plain_operations.hpp"

#include <mutex>
#include <new>
#include <sys/syscall.h>
#include <unistd.h>

namespace thence::progress {

namespace {

// Polls with shorter pauses between them are one interval.
constexpr base::nanoseconds longest_pause = 2'000'000;
constexpr std::size_t most_intervals = 250'000;

std::mutex mutex; // guards what follows
helper_log &log() {
    static auto &made = *new helper_log; // used until the process ends
    return made;
}

} // namespace

void log_help(base::nanoseconds begun) noexcept {
    if (!traces_calls()) {
        return;
    }
    const base::nanoseconds now = base::read_clock();
    const std::scoped_lock guard(mutex);
    helper_log &to = log();
    if (!to.intervals.empty() && begun - to.intervals.back().ended <= longest_pause) {
        to.intervals.back().ended = now;
        return;
    }
    if (to.intervals.size() == most_intervals) {
        ++to.dropped;
        return;
    }
    to.thread = static_cast<int>(syscall(SYS_gettid));
    try {
        to.intervals.push_back({begun, now});
    } catch (const std::bad_alloc &) {
        ++to.dropped;
    }
}

helper_log read_helper_log() {
    const std::scoped_lock guard(mutex);
    return log();
}

} // namespace thence::progress
