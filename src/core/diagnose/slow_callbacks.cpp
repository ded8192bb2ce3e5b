// SPDX-License-Identifier: BSD-3-Clause
#include "core/diagnose/slow_callbacks.hpp"

#include "core/diagnose/process_identity.hpp"
#include "core/diagnose/symbolize.hpp"
#include "core/diagnose/thread_log.hpp"

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

using attached_callback = std::pair<const void *, const void *>; // callback, and the code address that attached it

// True for the first slow run of this callback, and for one that took at least twice as long as the last reported one.
bool report_due(const attached_callback &which, std::uint64_t duration) {
    static std::mutex mutex;
    static auto *reported =
        new std::map<attached_callback, std::uint64_t>; // never destroyed: callbacks run until the process ends
    const std::scoped_lock guard(mutex);
    std::uint64_t &longest = (*reported)[which];
    if (duration < 2 * longest) {
        return false;
    }
    longest = duration;
    return true;
}

void report(const attached_callback &which, std::uint64_t duration) {
    const thread_log &log = this_thread_log();
    char time[32];
    std::snprintf(time, sizeof time, "%.1f ms", static_cast<double>(duration) * 1e-6);
    print_to_stderr("slow continuation: " + location_of_function(which.first) + " ran for " + time + " on thread " +
                    std::to_string(log.thread) + " (" + log.name + "), attached at " + location_of_call(which.second) +
                    "\n  Meanwhile this thread ran no other continuation and made no progress. Run long work in a task "
                    "of your runtime, or on a pool (thence/pools.hpp, a mode without inline-completion).\n");
}

} // namespace

void set_slow_callback_limit(std::chrono::milliseconds limit) noexcept {
    limit_ns = static_cast<std::uint64_t>(limit.count()) * 1000000;
}

bool slow_callbacks_reported() noexcept {
    return limit_ns != 0;
}

int slow_callback_limit_ms() noexcept {
    return static_cast<int>(std::min<std::uint64_t>(limit_ns / 1000000, INT_MAX));
}

void report_if_slow(const void *where, continuation::any_function callback, std::uint64_t started,
                    std::uint64_t ended) {
    if (limit_ns == 0 || ended - started < limit_ns) {
        return;
    }
    const attached_callback which{reinterpret_cast<const void *>(callback), where};
    try {
        if (report_due(which, ended - started)) {
            report(which, ended - started);
        }
    } catch (const std::bad_alloc &) {
        print_to_stderr("slow continuation: one ran for longer than THENCE_SLOW_CONTINUATION; there is no memory to "
                        "report which\n");
    }
}

} // namespace thence::diagnose
