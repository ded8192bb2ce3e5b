// SPDX-License-Identifier: BSD-3-Clause
// The queue of a pool without workers: only threads that wait run its tasks, some for one round.
#include "queue_task.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace {

using queue_tests::counting_host;
using queue_tests::task;
using thence::detail::urgency;
using thence::detail::work_queue;

TEST(queue_without_workers, keeps_tasks_for_threads_that_wait) {
    counting_host host;
    host.has_threads = false;
    work_queue queue(host, true);
    std::string order;
    task a([&] { order += 'a'; });
    task b([&] { order += 'b'; });
    queue.push(a, urgency::normal);
    auto now = [&] { return !order.empty(); };
    queue.run_until(now);
    queue.push(b, urgency::normal);
    auto both = [&] { return order.size() == 2; };
    queue.run_until(both);
    EXPECT_EQ(order, "ab");
}

TEST(queue_without_workers, calls_no_workers) {
    counting_host host; // it would send a worker
    work_queue queue(host, true);
    std::string order;
    task a([&] { order += 'a'; });
    task b([&] { order += 'b'; });
    task letter([&] { order += 'c'; });
    queue.push(a, urgency::normal);
    queue.push(b, urgency::normal);
    queue.begin_operation();
    host.in_progress = [&] { queue.end_operation(); };
    auto both = [&] { return order.size() == 2 && host.polls == 1; };
    queue.run_until(both);
    queue.push(letter, urgency::normal);
    queue.ensure_searching_worker();
    queue.check_stalled();
    EXPECT_TRUE(queue.check_stalled()) << "none was begun since";
    auto last = [&] { return order.size() == 3; };
    queue.run_until(last);
    EXPECT_EQ(host.calls, 0);
}

TEST(queue_without_workers, a_round_runs_ready_tasks_and_those_that_its_poll_finds) {
    counting_host host;
    work_queue queue(host, true);
    std::string order;
    task ready([&] { order += 'h'; });
    task found([&] { order += 'f'; });
    task more([&] { order += 'm'; });
    queue.begin_operation();
    queue.push(ready, urgency::normal);
    host.in_progress = [&] {
        queue.push_to_poller(found, urgency::normal);
        queue.push_to_poller(more, urgency::normal);
        queue.end_operation();
    };
    auto always = [] { return true; };
    queue.run_until(always, true);
    EXPECT_EQ(order, "hfm");
    EXPECT_EQ(host.polls, 1);
}

class task_that_pushes_itself {
public:
    explicit task_that_pushes_itself(work_queue &queue) : queue_(queue) { queue_.push(again_, urgency::normal); }
    void round_ends() {
        auto always = [] { return true; };
        queue_.run_until(always, true);
        EXPECT_GT(ran_, 0);
        EXPECT_LT(ran_, 1000);
        ran_ = most;
    }
    void end() {
        auto gone = [this] { return ran_ > most; };
        queue_.run_until(gone);
    }

private:
    static constexpr int most = 100000;
    work_queue &queue_;
    int ran_ = 0;
    task again_{[this] {
        if (++ran_ < most) {
            queue_.push(again_, urgency::normal);
        }
    }};
};

TEST(queue_without_workers, a_round_ends_although_tasks_make_more_tasks) {
    counting_host host;
    work_queue queue(host, true);
    task_that_pushes_itself endless(queue);
    endless.round_ends();
    endless.end();
}

// A round would run the other tasks on the stack of the first, nested without bound, and suspended with it.
TEST(queue_without_workers, there_are_no_rounds_in_tasks) {
    counting_host host;
    work_queue queue(host, true);
    constexpr int many = 1000;
    int depth = 0;
    int deepest = 0;
    int ran = 0;
    std::vector<std::unique_ptr<task>> tasks;
    auto always = [] { return true; };
    for (int i = 0; i < many; ++i) {
        tasks.push_back(std::make_unique<task>([&] {
            deepest = std::max(deepest, ++depth);
            queue.run_until(always, true);
            --depth;
            ++ran;
        }));
        queue.push(*tasks.back(), urgency::normal);
    }
    auto all = [&] { return ran == many; };
    queue.run_until(all);
    EXPECT_EQ(deepest, 1);
}

// The queue does not know which task is below it on the stack of its new thread.
TEST(queue_without_workers, there_are_no_rounds_in_a_task_that_was_suspended) {
    counting_host host;
    work_queue queue(host, true);
    int polls_in_task = -1;
    bool over = false;
    auto always = [] { return true; };
    task suspended([&] {
        work_queue::clear_thread_state();
        queue.resuming();
        queue.resumed();
        queue.run_until(always, true);
        polls_in_task = host.polls;
        over = true;
    });
    queue.begin_operation();
    queue.push(suspended, urgency::normal);
    auto done = [&] { return over; };
    queue.run_until(done);
    EXPECT_EQ(polls_in_task, 0);
    queue.run_until(always, true);
    EXPECT_EQ(host.polls, 1) << "the task is over";
    queue.end_operation();
}

TEST(queue_without_workers, a_round_ends_while_another_thread_polls) {
    counting_host host;
    work_queue queue(host, true);
    std::atomic<bool> polling{false};
    std::atomic<bool> enough{false};
    queue.begin_operation();
    host.in_progress = [&] {
        polling = true;
        while (!enough) {
            std::this_thread::yield();
        }
    };
    std::thread poller([&] {
        auto until = [&] { return enough.load(); };
        queue.run_until(until);
    });
    while (!polling) {
        std::this_thread::yield();
    }
    task_that_pushes_itself endless(queue);
    endless.round_ends();
    queue.end_operation();
    enough = true;
    poller.join();
    endless.end();
}

} // namespace
