// SPDX-License-Identifier: BSD-3-Clause
#ifndef THENCE_POOLS_DETAIL_RELIEF_HPP
#define THENCE_POOLS_DETAIL_RELIEF_HPP

// Looks once a millisecond whether the pools get on while operations are outstanding or a thread waits in them, and
// makes progress in their place if they do not: when a continuation keeps the polling thread busy or has suspended it,
// or all workers compute. So nothing that a program does in its tasks stops MPI for longer than that. Else it sleeps.
//
// Invariant: when an operation or a wait begins after there were none, this thread is awake, or is woken: it sets
// `asleep_` before it looks for them, and who begins counts before it reads `asleep_`.

#include <atomic>
#include <chrono>
#include <thread>
#include <utility>

#include <thence/pools/detail/work_queue.hpp>
#include <thence/thence.h>
#include <thence/timers.hpp>

namespace thence::detail {

class relief {
public:
    relief(work_queue &first, work_queue &second) : first_(first), second_(second) {}
    relief(const relief &) = delete;
    relief &operator=(const relief &) = delete;
    ~relief() {
        stop_.store(true, std::memory_order_seq_cst);
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
    static constexpr int idle_looks = 50;

    void run() {
        for (int idle = 0; !stop_.load(std::memory_order_seq_cst);) {
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
            if (wanted()) {
                idle = 0;
                look();
            } else if (++idle >= idle_looks) {
                idle = 0;
                sleep();
            }
        }
    }
    bool wanted() const noexcept {
        return first_.operations() > 0 || second_.operations() > 0 || first_.waited_for() || second_.waited_for();
    }
    void look() {
        const bool first = first_.stuck();
        const bool second = second_.stuck();
        const unsigned long polls = first_.polls() + second_.polls();
        const bool nobody_polls = std::exchange(polls_before_, polls) == polls;
        if (first || second || nobody_polls) {
            run_timers();
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
    unsigned long polls_before_ = 0;
    std::atomic<bool> stop_{false};
    std::atomic<bool> asleep_{false};
    std::thread thread_;
};

} // namespace thence::detail

#endif
