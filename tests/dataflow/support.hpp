// SPDX-License-Identifier: BSD-3-Clause
// What the tests of tasks share.
#pragma once

#include <thence/dataflow.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

namespace test {

// Waits, on a thread outside of tasks, until another thread has made it true. The time limit of the test ends it
// otherwise.
template <class Condition> void wait_until(Condition &&holds) {
    while (!holds()) {
        std::this_thread::yield();
    }
}

// What has happened, in order. Any thread.
class log {
public:
    void add(int what) {
        const std::scoped_lock guard(mutex_);
        all_.push_back(what);
    }
    std::vector<int> all() const {
        const std::scoped_lock guard(mutex_);
        return all_;
    }

private:
    mutable std::mutex mutex_;
    std::vector<int> all_;
};

// Holds a task back, although its body has ended: it is complete after release().
class held {
public:
    // In the body, or in onready.
    void hold() {
        task_ = thence::current_task();
        thence::raise_events(task_);
        holds_.store(true, std::memory_order_release);
    }
    bool holds() const { return holds_.load(std::memory_order_acquire); }
    void release(int error = 0) {
        wait_until([&] { return try_release(error); });
    }
    // @return whether a task was held. Of several threads, one releases it.
    bool try_release(int error = 0) {
        if (!holds() || !holds_.exchange(false, std::memory_order_acquire)) {
            return false;
        }
        thence::lower_events(task_, 1, error);
        return true;
    }

private:
    thence::task_ref task_;
    std::atomic<bool> holds_{false};
};

// Two workers, also where the machine has fewer processors.
inline thence::flow_options two_workers() {
    return {.workers = 2};
}

} // namespace test
