// SPDX-License-Identifier: BSD-3-Clause
// The thread that polls where no thread of the pools does: one looks every few milliseconds whether the pools got on
// since the last look, while operations are outstanding or a thread waits in them. If they did not, since a
// continuation keeps the polling thread busy or has suspended it, or all workers compute, it makes progress itself.
// Nothing that a program does in its tasks stops MPI for longer than two looks take. While there is nothing to look for
// it sleeps.
//
// Invariant: when an operation or a wait begins after there were none, this thread is awake, or is woken: it sets
// `asleep_` before it looks for them, and who begins counts before it reads `asleep_`.
#pragma once

#include "pools/work_queue.hpp"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace thence::detail {

// How long to wait between two looks. To wake up costs a core several microseconds (30 on a virtual machine), so
// where tasks are short and signs of polls many, or nothing is to do, it happens less often.
class look_pace {
public:
    static constexpr int shortest_ms = 1;
    static constexpr int longest_ms = 4;
    static constexpr int idle_looks = 16;
    int ms() const noexcept { return ms_; }
    void looked(unsigned long signs_since, bool stuck) noexcept {
        idle_ = 0;
        if (stuck || signs_since < static_cast<unsigned long>(ms_) * often_per_ms)
            ms_ = shortest_ms;
        else
            lengthen();
    }
    // @return whether to sleep until there is. The first look after that comes soon.
    bool nothing_to_look_for() noexcept {
        lengthen();
        if (++idle_ < idle_looks)
            return false;
        *this = {};
        return true;
    }

private:
    static constexpr unsigned long often_per_ms = 20;
    void lengthen() noexcept { ms_ = std::min(2 * ms_, longest_ms); }
    int ms_ = shortest_ms;
    int idle_ = 0; // looks in a row for which there was nothing
};

class watchdog {
public:
    watchdog(work_queue &first, work_queue &second) : first_(first), second_(second) {}
    watchdog(const watchdog &) = delete;
    watchdog &operator=(const watchdog &) = delete;
    ~watchdog();
    // Not before the queues can be used.
    void start();
    void began() noexcept;

private:
    void run();
    bool wanted() const noexcept;
    void look();
    void sleep();

    work_queue &first_;
    work_queue &second_;
    unsigned long signs_before_ = 0;
    look_pace pace_;
    std::mutex stopping_;
    std::condition_variable stopped_;
    std::atomic<bool> stop_{false};
    std::atomic<bool> asleep_{false};
    std::thread thread_;
};

} // namespace thence::detail
