// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Reports tasks that keep a polling thread of the pools for longer than THENCE_SLOW_CONTINUATION, as the library
// reports callbacks: once for each type of task, and again when a task of that type takes twice as long.

#include <atomic>
#include <cstddef>
#include <cstdio>
#include <string_view>

#include <thence/error.hpp>
#include <thence/senders/detail/timers.hpp>
#include <thence/thence.h>

namespace thence::detail {

/** @return THENCE_SLOW_CONTINUATION in nanoseconds; 0: no reports are wanted. @throws thence::error */
inline timer_time slow_limit() {
    thence_info info{};
    check(thence_query(&info, sizeof info), "read the limit of slow continuations");
    return static_cast<timer_time>(info.slow_ms) * 1000000;
}

/** @return the text before the lambda at `end`, from where that template argument begins. */
inline std::string_view scope_of_lambda(std::string_view function, std::size_t end) noexcept {
    auto begin = end;
    for (int depth = 0; begin > 0; --begin) {
        const char c = function[begin - 1];
        depth += c == ')' || c == '>' ? 1 : c == '(' || c == '<' ? -1 : 0;
        if (depth < 0 || (depth == 0 && (c == ',' || c == '='))) {
            break;
        }
    }
    while (function[begin] == ' ') {
        ++begin;
    }
    return function.substr(begin, end - begin);
}

/** @param function the compiler's name of run_timed().
 *  @return the part of it that says which task it was: where its first lambda is written (GCC gives the function, Clang
 *          the line), or else the beginning of its type. It skips lambdas in which stdexec wraps the types of
 *          senders. */
inline std::string_view task_name(std::string_view function) noexcept {
    constexpr auto none = std::string_view::npos;
    for (auto at = function.find("(lambda at "); at != none; at = function.find("(lambda at ", at + 1)) {
        if (const auto name = function.substr(at + 1, function.find(')', at) - at - 1);
            name.find("/stdexec/__detail/") == none) {
            return name;
        }
    }
    for (auto end = function.find("::<lambda("); end != none; end = function.find("::<lambda(", end + 1)) {
        if (const auto name = scope_of_lambda(function, end);
            !name.ends_with("stdexec") && !name.starts_with("stdexec::")) {
            return name;
        }
    }
    const auto at = function.find("What = ");
    return function.substr(at == none ? 0 : at + 7, 200);
}

inline void report_slow_task(timer_time took, std::string_view function) noexcept {
    const std::string_view where = task_name(function);
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    std::fprintf(stderr,
                 "thence[%d]: slow continuation: a task of %.*s ran for %.1f ms on a thread that polls for the pools\n"
                 "thence[%d]:   no other continuation ran on this thread meanwhile, and it made no progress; let long "
                 "work run on the workers: a mode without inline-completion, or continues_on(pools.workers())\n",
                 rank, static_cast<int>(where.size()), where.data(), static_cast<double>(took) * 1e-6, rank);
}

/** Runs `go`, which may destroy the task, and reports it if it took `limit` or longer. @tparam What the type of the
 *          task, for the report. */
template <class What, class Go> void run_timed(timer_time limit, Go &&go) noexcept {
    static std::atomic<timer_time> longest{0};
    const timer_time started = read_monotonic_clock();
    go();
    const timer_time took = read_monotonic_clock() - started;
    timer_time reported = longest.load(std::memory_order_relaxed);
    while (took >= limit && took >= 2 * reported) {
        if (longest.compare_exchange_weak(reported, took, std::memory_order_relaxed)) {
            return report_slow_task(took, __PRETTY_FUNCTION__);
        }
    }
}

} // namespace thence::detail
