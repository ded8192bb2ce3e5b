// SPDX-License-Identifier: BSD-3-Clause
// The watchdog thread of pools. While operations are outstanding or a thread waits in the pools, it checks every few
// milliseconds whether they have made progress since its last check. If not, since a continuation blocks or has
// suspended the polling thread, or all workers compute, it makes progress itself. So no task of the program stops MPI's
// progress for longer than two intervals between checks. While nothing is outstanding it sleeps.
//
// Invariant: when an operation or a wait begins and there was none before, this thread is awake or is woken. It sets
// `asleep_` before it reads the counts of operations and waits. The thread that begins one increases the count before
// it reads `asleep_`.
#pragma once

#include "tbb/pools/work_queue.hpp"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace thence::detail {

// The time between two checks. To wake a thread costs several microseconds of a processor (30 on a virtual machine). So
// the interval grows while polls are frequent, which means that tasks are short, and while nothing is outstanding.
class check_interval {
public:
    static constexpr int shortest_ms = 1;
    static constexpr int longest_ms = 4;
    static constexpr int idle_checks = 16;
    int ms() const noexcept { return ms_; }
    // Call it after a check. `activity`: polls and completed operations since the last check.
    void checked(unsigned long activity, bool stalled) noexcept {
        idle_ = 0;
        if (stalled || activity < static_cast<unsigned long>(ms_) * frequent_per_ms) {
            ms_ = shortest_ms;
        } else {
            lengthen();
        }
    }
    // Call it in place of checked() if nothing is outstanding. @return true if the watchdog should sleep until
    // something is. The interval after that is the shortest.
    bool nothing_outstanding() noexcept {
        lengthen();
        if (++idle_ < idle_checks) {
            return false;
        }
        *this = {};
        return true;
    }

private:
    static constexpr unsigned long frequent_per_ms = 20;
    void lengthen() noexcept { ms_ = std::min(2 * ms_, longest_ms); }
    int ms_ = shortest_ms;
    int idle_ = 0; // calls of nothing_outstanding() in a row
};

class watchdog {
public:
    watchdog(work_queue &first, work_queue &second) : first_(first), second_(second) {}
    watchdog &operator=(watchdog &&) = delete;
    ~watchdog();
    // Starts the thread. The queues must be ready for use.
    void start();
    // Wakes the thread. Call it after the first operation or wait has begun. Thread-safe.
    void began() noexcept;

private:
    void run();
    bool wanted() const noexcept;
    void check();
    void sleep();

    work_queue &first_;
    work_queue &second_;
    unsigned long activity_before_ = 0;
    check_interval interval_;
    std::mutex stopping_;
    std::condition_variable stopped_;
    std::atomic<bool> stop_{false};
    std::atomic<bool> asleep_{false};
    std::thread thread_;
};

} // namespace thence::detail
