// SPDX-License-Identifier: BSD-3-Clause
#ifndef THENCE_POOLS_DETAIL_RELIEF_HPP
#define THENCE_POOLS_DETAIL_RELIEF_HPP
#if __cplusplus < 202002L
#error "thence/pools/detail/relief.hpp needs C++20: compile with -std=c++20"
#else

// Looks every few milliseconds whether the pools got on since the last look while operations are outstanding or a
// thread waits in them, and makes progress in their place if they did not: when a continuation keeps the polling thread
// busy or has suspended it, or all workers compute. So nothing that a program does in its tasks stops MPI for longer
// than it takes to look twice. Else it sleeps.
//
// Invariant: when an operation or a wait begins after there were none, this thread is awake, or is woken: it sets
// `asleep_` before it looks for them, and who begins counts before it reads `asleep_`.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

#include <thence/pools/detail/work_queue.hpp>
#include <thence/thence.h>
#include <thence/senders/detail/timers.hpp>

namespace thence::detail {

/** How long to wait between two looks. To wake up costs a core several microseconds (30 on a virtual machine), so
 *  where tasks are short and signs of polls many, or nothing is to do, it happens less often. */
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
    /** @return whether to sleep until there is. The first look after that comes soon. */
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

class relief {
public:
    relief(work_queue &first, work_queue &second) : first_(first), second_(second) {}
    relief(const relief &) = delete;
    relief &operator=(const relief &) = delete;
    ~relief() {
        {
            const std::scoped_lock guard(stopping_);
            stop_.store(true, std::memory_order_seq_cst);
        }
        stopped_.notify_one();
        began();
        if (thread_.joinable())
            thread_.join();
    }
    /** Not before the queues can be used. */
    void start() {
        thread_ = std::thread([this] { run(); });
    }
    void began() noexcept {
        if (asleep_.load(std::memory_order_seq_cst)) {
            asleep_.store(false, std::memory_order_seq_cst);
            asleep_.notify_one();
        }
    }

private:
    void run() {
        while (!stop_.load(std::memory_order_seq_cst)) {
            {
                std::unique_lock guard(stopping_);
                stopped_.wait_for(guard, std::chrono::milliseconds(pace_.ms()), [this] { return stop_.load(); });
            }
            if (wanted())
                look();
            else if (pace_.nothing_to_look_for())
                sleep();
        }
    }
    bool wanted() const noexcept {
        return first_.operations() > 0 || second_.operations() > 0 || first_.waited_for() || second_.waited_for();
    }
    void look() {
        const bool first = first_.stuck();
        const bool second = second_.stuck();
        const unsigned long signs = first_.signs_of_polls() + second_.signs_of_polls();
        const unsigned long since = signs - std::exchange(signs_before_, signs);
        const bool stuck = first || second || since == 0;
        pace_.looked(since, stuck);
        if (stuck) {
            libthence_senders::run_timers();
            thence_progress();
        }
    }
    void sleep() {
        asleep_.store(true, std::memory_order_seq_cst);
        if (wanted() || stop_.load(std::memory_order_seq_cst))
            asleep_.store(false, std::memory_order_seq_cst);
        else
            asleep_.wait(true, std::memory_order_seq_cst);
    }

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

#endif // C++20
#endif
