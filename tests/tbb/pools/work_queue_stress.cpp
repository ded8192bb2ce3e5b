// SPDX-License-Identifier: BSD-3-Clause
// The queue of a pool with many threads.
#include "queue_task.hpp"

#include <gtest/gtest.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace {

using queue_tests::task;
using thence::detail::runner_host;
using thence::detail::urgency;
using thence::detail::work_queue;

// Three threads, which call() sends.
class thread_host final : public runner_host {
public:
    std::atomic<long> ended{0};
    std::atomic<long> to_end{0};

    void work_for(work_queue &queue) {
        for (int i = 0; i < 3; ++i) {
            threads_.emplace_back([this, &queue] { serve(queue); });
        }
    }
    void stop() {
        {
            const std::scoped_lock guard(mutex_);
            stop_ = true;
        }
        wake_.notify_all();
        for (std::thread &each : threads_) {
            each.join();
        }
        threads_.clear();
    }
    bool call() override {
        {
            const std::scoped_lock guard(mutex_);
            ++called_;
        }
        wake_.notify_one();
        return true;
    }
    bool progress() noexcept override {
        if (to_end.load() > 0 && to_end.fetch_sub(1) > 0) {
            on_end();
        }
        return false;
    }
    bool polls_for_waiting() noexcept override { return true; }
    void yield() noexcept override { std::this_thread::yield(); }
    void began() noexcept override {}
    std::function<void()> on_end;

private:
    void serve(work_queue &queue) {
        std::unique_lock guard(mutex_);
        for (;;) {
            wake_.wait(guard, [&] { return called_ > 0 || stop_; });
            if (called_ == 0) {
                return;
            }
            --called_;
            guard.unlock();
            queue.run_as_worker();
            guard.lock();
        }
    }
    std::mutex mutex_;
    std::condition_variable wake_;
    int called_ = 0;
    bool stop_ = false;
    std::vector<std::thread> threads_;
};

// In each round, producers on several threads begin operations. Each operation completes in a poll and pushes a task,
// which pushes another. The queue is destroyed as soon as the last task has run.
TEST(queue_stress, every_task_runs_once_and_the_queue_may_be_destroyed_after_the_last) {
    constexpr int rounds = 60;
    constexpr int producers = 3;
    constexpr int each = 100;
    for (int round = 0; round < rounds; ++round) {
        thread_host host;
        std::atomic<int> ran{0};
        std::atomic<bool> done{false};
        std::vector<std::unique_ptr<task>> first;
        std::vector<std::unique_ptr<task>> second;
        std::mutex started_mutex;
        std::vector<task *> started; // operations whose completion pushes this task
        auto queue = std::make_unique<work_queue>(host);
        for (int i = 0; i < producers * each; ++i) {
            second.push_back(std::make_unique<task>([&] {
                if (ran.fetch_add(1) + 1 == producers * each) {
                    done.store(true);
                }
            }));
            first.push_back(std::make_unique<task>([&, i] {
                queue->push(*second[static_cast<std::size_t>(i)], i % 7 == 0 ? urgency::high : urgency::normal);
            }));
        }
        host.on_end = [&] {
            task *found = nullptr;
            {
                const std::scoped_lock guard(started_mutex);
                found = started.back();
                started.pop_back();
            }
            queue->end_operation();
            if (!queue->push_to_poller(*found, urgency::normal)) {
                queue->push(*found, urgency::normal);
            }
        };
        host.work_for(*queue);
        std::vector<std::thread> threads;
        for (int p = 0; p < producers; ++p) {
            threads.emplace_back([&, p] {
                for (int i = 0; i < each; ++i) {
                    queue->begin_operation();
                    {
                        const std::scoped_lock guard(started_mutex);
                        started.push_back(first[static_cast<std::size_t>(p * each + i)].get());
                    }
                    host.to_end.fetch_add(1);
                }
            });
        }
        for (std::thread &each_thread : threads) {
            each_thread.join();
        }
        auto condition = [&] { return done.load(); };
        if (round % 2 == 0) {
            queue->run_until(condition);
        }
        while (!done.load()) {
            std::this_thread::yield();
        }
        ASSERT_EQ(ran.load(), producers * each);
        queue.reset(); // waits for its runners
        host.stop();
    }
}

} // namespace
