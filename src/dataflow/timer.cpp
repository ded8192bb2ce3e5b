// SPDX-License-Identifier: BSD-3-Clause
#include "dataflow/timer.hpp"

#include <thence/detail/start_thread.hpp>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <vector>

namespace thence::dataflow {

namespace {

struct sleeper {
    base::nanoseconds when;
    void (*wake)(void *data) noexcept;
    void *data;
    // The heap has the earliest first.
    bool operator<(const sleeper &other) const noexcept { return when > other.when; }
};

class timer {
public:
    // Never destroyed: its thread runs until the process ends.
    static timer &instance() {
        static timer &only = *new timer;
        return only;
    }

    void reserve() {
        const std::scoped_lock guard(mutex_);
        // reserve() alone allocates exactly as much, and so copies all sleepers for each that is added.
        if (const std::size_t needed = reserved_ + sleepers_.size() + 1; needed > sleepers_.capacity()) {
            sleepers_.reserve(std::max(needed, 2 * sleepers_.capacity()));
        }
        if (!started_) {
            detail::start_thread([this] { run(); }).detach();
            started_ = true;
        }
        ++reserved_;
    }
    // Needs one call of reserve() before.
    void add(const sleeper &added) noexcept {
        const std::scoped_lock guard(mutex_);
        --reserved_;
        sleepers_.push_back(added);
        std::push_heap(sleepers_.begin(), sleepers_.end());
        if (sleepers_.front().data == added.data) {
            earlier_.notify_one();
        }
    }

private:
    void run() {
        std::unique_lock guard(mutex_);
        for (;;) {
            if (sleepers_.empty()) {
                earlier_.wait(guard);
                continue;
            }
            if (const base::nanoseconds left = sleepers_.front().when - base::read_clock(); left > 0) {
                earlier_.wait_for(guard, std::chrono::nanoseconds(left));
                continue;
            }
            std::pop_heap(sleepers_.begin(), sleepers_.end());
            const sleeper due = sleepers_.back();
            sleepers_.pop_back();
            guard.unlock();
            due.wake(due.data);
            guard.lock();
        }
    }

    std::mutex mutex_;
    std::condition_variable earlier_;
    std::vector<sleeper> sleepers_; // a heap
    std::size_t reserved_ = 0;
    bool started_ = false;
};

} // namespace

void prepare_timer() {
    timer::instance().reserve();
}
void resume_at(base::nanoseconds when, workers::suspended &stack) noexcept {
    timer::instance().add(
        {when, [](void *data) noexcept { workers::resume(*static_cast<workers::suspended *>(data)); }, &stack});
}
bool call_after(std::uint64_t nanoseconds, void (*wake)(void *) noexcept, void *data) noexcept {
    try {
        timer::instance().reserve();
    } catch (...) {
        return false;
    }
    timer::instance().add({base::read_clock() + clamped(nanoseconds), wake, data});
    return true;
}

} // namespace thence::dataflow
