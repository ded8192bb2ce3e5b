// SPDX-License-Identifier: BSD-3-Clause
// The queue of a pool: who is called when, in which order tasks run, and that none is lost. Without MPI and oneTBB: the
// test lends the threads.
#include "queue_task.hpp"

#include <thence/pools/detail/relief.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace {

using queue_tests::task;
using thence::detail::drainer_host;
using thence::detail::pool_task;
using thence::detail::urgency;
using thence::detail::work_queue;

struct noting_host final : drainer_host {
    int calls = 0;
    int polls = 0;
    int yields = 0;
    bool has_threads = true;
    bool finds_something = false;
    bool polls_while_waiting = false;
    int begins = 0;
    std::function<void()> in_progress;

    bool call() override { return has_threads && ++calls != 0; }
    bool progress() noexcept override {
        ++polls;
        if (in_progress)
            in_progress();
        return finds_something;
    }
    bool polls_for_waiting() noexcept override { return polls_while_waiting; }
    void yield() noexcept override { ++yields; }
    void began() noexcept override { ++begins; }
};

struct queue_of_tasks : testing::Test {
    /** The drainers that were called, but for those that have come. */
    void drain_rest(int came) {
        for (; came < host.calls; ++came)
            queue.drain_called();
    }
    noting_host host;
    work_queue queue{host};
    std::string order;
    std::vector<std::unique_ptr<task>> tasks;

    pool_task &add(std::function<void()> body) { return *tasks.emplace_back(std::make_unique<task>(std::move(body))); }
    pool_task &letter(char c) {
        return add([this, c] { order += c; });
    }
};

TEST_F(queue_of_tasks, calls_one_drainer_for_tasks_that_nobody_looks_for) {
    queue.push(letter('a'), urgency::normal);
    queue.push(letter('b'), urgency::normal);
    EXPECT_EQ(host.calls, 1);
    queue.drain_called();
    EXPECT_EQ(order, "ab");
    EXPECT_EQ(host.calls, 2) << "one for b, which was left behind while a ran";
    queue.push(letter('c'), urgency::normal);
    EXPECT_EQ(host.calls, 2) << "it is still on its way";
    queue.drain_called();
    EXPECT_EQ(order, "abc");
}

TEST_F(queue_of_tasks, urgent_ones_go_first) {
    queue.push(letter('n'), urgency::normal);
    queue.push(letter('x'), urgency::high);
    queue.push(letter('y'), urgency::high);
    queue.drain_called();
    EXPECT_EQ(order, "xyn");
    drain_rest(1);
}

TEST_F(queue_of_tasks, a_task_keeps_no_other_waiting) {
    int calls_in_a = 0;
    int calls_in_b = 0;
    queue.push(add([&] { calls_in_a = host.calls; }), urgency::normal);
    queue.push(add([&] {
                   calls_in_b = host.calls;
                   queue.push(letter('c'), urgency::normal);
                   EXPECT_EQ(host.calls, calls_in_b) << "one is on its way already";
               }),
               urgency::normal);
    queue.drain_called();
    EXPECT_EQ(calls_in_a, 2) << "b was left behind, so another drainer was called before a ran";
    EXPECT_EQ(order, "c");
    queue.drain_called();
}

TEST_F(queue_of_tasks, a_push_inside_of_a_task_calls_another_drainer) {
    queue.push(add([&] {
                   EXPECT_EQ(host.calls, 1);
                   queue.push(letter('b'), urgency::normal);
                   EXPECT_EQ(host.calls, 2);
               }),
               urgency::normal);
    queue.drain_called();
    EXPECT_EQ(order, "b");
    queue.drain_called();
}

TEST_F(queue_of_tasks, polls_until_no_operation_is_outstanding) {
    queue.begin_operation();
    EXPECT_EQ(host.calls, 1);
    queue.begin_operation();
    EXPECT_EQ(host.calls, 1);
    host.in_progress = [&] {
        if (host.polls == 3 || host.polls == 100)
            queue.end_operation();
    };
    queue.drain_called();
    EXPECT_EQ(host.polls, 100);
    EXPECT_GE(host.yields, 2) << "polls that find nothing let others go first";
}

TEST_F(queue_of_tasks, a_poll_that_completes_one_operation_and_begins_another_has_found_something) {
    queue.begin_operation();
    host.in_progress = [&] {
        if (host.polls < 1000)
            queue.begin_operation(); // as what follows inline does
        queue.end_operation();
    };
    queue.drain_called();
    EXPECT_EQ(host.polls, 1000);
    EXPECT_EQ(host.yields, 0);
}

TEST_F(queue_of_tasks, what_a_poll_finds_runs_before_the_next_one) {
    queue.begin_operation();
    host.in_progress = [&] {
        EXPECT_TRUE(queue.push_to_poller(letter(static_cast<char>('0' + host.polls)), urgency::normal));
        EXPECT_TRUE(queue.push_to_poller(letter('!'), urgency::high));
        if (host.polls == 3)
            queue.end_operation();
    };
    queue.drain_called();
    EXPECT_EQ(order, "!1!2!3");
    for (int i = 1; i < host.calls; ++i)
        queue.drain_called();
}

TEST_F(queue_of_tasks, only_the_thread_that_polls_takes_without_the_lock) {
    EXPECT_FALSE(queue.push_to_poller(letter('a'), urgency::normal));
    queue.push(add([&] { EXPECT_FALSE(queue.push_to_poller(letter('a'), urgency::normal)) << "in a task"; }),
               urgency::normal);
    queue.drain_called();
    noting_host other_host;
    work_queue other(other_host);
    queue.begin_operation();
    host.in_progress = [&] {
        EXPECT_FALSE(other.push_to_poller(letter('a'), urgency::normal)) << "of another queue";
        queue.end_operation();
    };
    queue.drain_called();
    EXPECT_EQ(order, "");
}

TEST_F(queue_of_tasks, tasks_that_ask_again_are_polled) {
    int asked = 0;
    pool_task *again = nullptr;
    again = &add([&] {
        if (++asked < 5)
            queue.push_again(*again);
        else
            queue.end_operation();
    });
    queue.begin_operation();
    queue.push_again(*again);
    queue.drain_called();
    EXPECT_EQ(asked, 5);
    EXPECT_EQ(host.polls, 5) << "other operations get their progress too";
}

TEST_F(queue_of_tasks, an_operation_begun_in_a_task_calls_nobody) {
    queue.push(add([&] {
                   queue.begin_operation();
                   EXPECT_EQ(host.calls, 1) << "this drainer looks again after the task";
               }),
               urgency::normal);
    host.in_progress = [&] { queue.end_operation(); };
    queue.drain_called();
    EXPECT_EQ(host.polls, 1);
}

TEST_F(queue_of_tasks, a_task_that_suspends_calls_another_drainer_before) {
    queue.push(add([&] {
                   queue.call_another();
                   EXPECT_EQ(host.calls, 2);
                   queue.call_another();
                   EXPECT_EQ(host.calls, 2);
               }),
               urgency::normal);
    queue.drain_called();
    queue.drain_called();
}

TEST_F(queue_of_tasks, is_stuck_when_nobody_polls_between_two_looks) {
    EXPECT_FALSE(queue.stuck()) << "nothing to do";
    queue.begin_operation();
    EXPECT_TRUE(queue.stuck());
    EXPECT_EQ(host.calls, 1) << "one is on its way";
    queue.push(add([&] {
                   EXPECT_TRUE(queue.stuck()) << "a task runs, and nobody polls";
                   EXPECT_EQ(host.calls, 2) << "another drainer is called";
               }),
               urgency::normal);
    host.in_progress = [&] {
        if (host.polls == 2)
            queue.end_operation();
        else
            queue.push(add([&] { EXPECT_FALSE(queue.stuck()) << "polled since"; }), urgency::normal);
    };
    queue.drain_called();
    EXPECT_EQ(host.polls, 2);
    queue.drain_called();
}

TEST_F(queue_of_tasks, is_stuck_when_a_task_waits_and_none_is_begun) {
    queue.push(letter('a'), urgency::normal);
    EXPECT_TRUE(queue.stuck());
    queue.drain_called();
    EXPECT_FALSE(queue.stuck());
}

TEST_F(queue_of_tasks, polls_between_tasks_that_never_end) {
    int ran = 0;
    pool_task *again = nullptr;
    again = &add([&] {
        ++ran;
        if (queue.operations() > 0)
            queue.push(*again, urgency::normal);
    });
    queue.begin_operation();
    queue.push(*again, urgency::normal);
    host.in_progress = [&] {
        if (host.polls == 3)
            queue.end_operation();
    };
    queue.drain_called();
    EXPECT_EQ(host.polls, 3);
    EXPECT_LT(ran, 1000);
    drain_rest(1);
}

TEST_F(queue_of_tasks, parts_of_a_task_go_on_at_once_but_not_too_deep) {
    EXPECT_FALSE(queue.go_on_here([] { FAIL(); })) << "in no task";
    int deepest = 0;
    std::function<void(int)> down = [&](int depth) {
        deepest = depth;
        queue.go_on_here([&] { down(depth + 1); });
    };
    queue.push(add([&] { down(0); }), urgency::normal);
    queue.push(add([&] { EXPECT_TRUE(queue.go_on_here([] {})) << "in the next task there is room again"; }),
               urgency::normal);
    queue.drain_called();
    EXPECT_GE(deepest, 4);
    EXPECT_LE(deepest, 16);
    EXPECT_FALSE(queue.go_on_here([] { FAIL(); })) << "the drainer has left";
    queue.drain_called();
}

TEST_F(queue_of_tasks, a_thread_that_comes_by_itself_leaves_when_it_may_and_calls_for_the_rest) {
    bool done = false;
    auto condition = [&] { return done; };
    queue.push(add([&] { done = true; }), urgency::normal);
    queue.push(letter('b'), urgency::normal);
    queue.drain_until(condition);
    EXPECT_EQ(order, "");
    EXPECT_GE(host.calls, 1);
    for (int i = host.calls; i > 0; --i)
        queue.drain_called();
    EXPECT_EQ(order, "b");
}

TEST_F(queue_of_tasks, a_thread_that_waits_polls_for_what_the_queue_does_not_know) {
    host.polls_while_waiting = true;
    bool done = false;
    host.in_progress = [&] { done = host.polls == 5; };
    auto condition = [&] { return done; };
    queue.drain_until(condition);
    EXPECT_EQ(host.polls, 5);
    EXPECT_EQ(host.calls, 0) << "it needs nobody else for that";
    EXPECT_EQ(host.begins, 1) << "who looks whether anybody polls has been told";
    EXPECT_FALSE(queue.waited_for());
}

TEST_F(queue_of_tasks, a_thread_that_waits_polls_between_tasks_that_never_end) {
    host.polls_while_waiting = true;
    bool done = false;
    pool_task *again = nullptr;
    again = &add([&] {
        if (!done)
            queue.push(*again, urgency::normal);
    });
    queue.push(*again, urgency::normal);
    host.in_progress = [&] { done = host.polls == 3; };
    auto condition = [&] { return done; };
    queue.drain_until(condition);
    EXPECT_EQ(host.polls, 3);
    drain_rest(0);
}

TEST_F(queue_of_tasks, a_thread_that_waits_leaves_polling_to_others_where_its_host_says_so) {
    int looks = 0;
    auto condition = [&] { return ++looks == 5; };
    queue.drain_until(condition);
    EXPECT_EQ(host.polls, 0);
}

TEST_F(queue_of_tasks, a_thread_that_comes_for_a_round_polls_before_it_asks) {
    queue.begin_operation();
    host.in_progress = [&] {
        queue.push_to_poller(letter('a'), urgency::normal);
        queue.end_operation();
    };
    auto always = [] { return true; };
    queue.drain_until(always, true);
    EXPECT_EQ(host.polls, 1);
    EXPECT_EQ(order, "") << "there are others for tasks";
    drain_rest(0);
    EXPECT_EQ(order, "a");
}

TEST_F(queue_of_tasks, a_round_polls_only_if_there_is_something_to_poll_for) {
    auto always = [] { return true; };
    queue.drain_until(always, true);
    EXPECT_EQ(host.polls, 0);
    EXPECT_FALSE(queue.waited_for());
}

TEST_F(queue_of_tasks, does_not_pause_while_polls_find_something) {
    queue.begin_operation();
    host.finds_something = true;
    host.in_progress = [&] {
        if (host.polls == 1000)
            queue.end_operation();
    };
    queue.drain_called();
    EXPECT_EQ(host.yields, 0);
}

TEST_F(queue_of_tasks, is_waited_for_while_a_thread_waits) {
    host.polls_while_waiting = true;
    bool seen = false;
    host.in_progress = [&] { seen = queue.waited_for(); };
    auto condition = [&] { return seen; };
    queue.drain_until(condition);
    EXPECT_EQ(queue.polls(), static_cast<unsigned long>(host.polls));
}

TEST(queue_alone, keeps_tasks_for_threads_that_come) {
    noting_host host;
    host.has_threads = false;
    work_queue queue(host, true);
    std::string order;
    task a([&] { order += 'a'; });
    task b([&] { order += 'b'; });
    queue.push(a, urgency::normal);
    auto now = [&] { return !order.empty(); };
    queue.drain_until(now);
    queue.push(b, urgency::normal);
    auto both = [&] { return order.size() == 2; };
    queue.drain_until(both);
    EXPECT_EQ(order, "ab");
}

TEST(queue_alone, has_nobody_to_call) {
    noting_host host; // which would send somebody
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
    queue.drain_until(both);
    queue.push(letter, urgency::normal);
    queue.call_another();
    queue.stuck();
    EXPECT_TRUE(queue.stuck()) << "none was begun since";
    auto last = [&] { return order.size() == 3; };
    queue.drain_until(last);
    EXPECT_EQ(host.calls, 0);
}

TEST(queue_alone, a_round_runs_what_is_at_hand_and_what_its_poll_finds) {
    noting_host host;
    work_queue queue(host, true);
    std::string order;
    task at_hand([&] { order += 'h'; });
    task found([&] { order += 'f'; });
    task more([&] { order += 'm'; });
    queue.begin_operation();
    queue.push(at_hand, urgency::normal);
    host.in_progress = [&] {
        queue.push_to_poller(found, urgency::normal);
        queue.push_to_poller(more, urgency::normal);
        queue.end_operation();
    };
    auto always = [] { return true; };
    queue.drain_until(always, true);
    EXPECT_EQ(order, "hfm");
    EXPECT_EQ(host.polls, 1);
}

class task_that_pushes_itself {
public:
    explicit task_that_pushes_itself(work_queue &queue) : queue_(queue) { queue_.push(again_, urgency::normal); }
    void round_ends() {
        auto always = [] { return true; };
        queue_.drain_until(always, true);
        EXPECT_GT(ran_, 0);
        EXPECT_LT(ran_, 1000);
        ran_ = most;
    }
    void end() {
        auto gone = [this] { return ran_ > most; };
        queue_.drain_until(gone);
    }

private:
    static constexpr int most = 100000;
    work_queue &queue_;
    int ran_ = 0;
    task again_{[this] {
        if (++ran_ < most)
            queue_.push(again_, urgency::normal);
    }};
};

TEST(queue_alone, a_round_ends_although_tasks_make_more_tasks) {
    noting_host host;
    work_queue queue(host, true);
    task_that_pushes_itself endless(queue);
    endless.round_ends();
    endless.end();
}

// It would run the others on the stack of the first: without end, and suspended with it.
TEST(queue_alone, there_are_no_rounds_in_tasks) {
    noting_host host;
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
            queue.drain_until(always, true);
            --depth;
            ++ran;
        }));
        queue.push(*tasks.back(), urgency::normal);
    }
    auto all = [&] { return ran == many; };
    queue.drain_until(all);
    EXPECT_EQ(deepest, 1);
}

TEST(queue_alone, a_round_ends_while_another_thread_polls) {
    noting_host host;
    work_queue queue(host, true);
    std::atomic<bool> polling{false};
    std::atomic<bool> enough{false};
    queue.begin_operation();
    host.in_progress = [&] {
        polling = true;
        while (!enough)
            std::this_thread::yield();
    };
    std::thread poller([&] {
        auto until = [&] { return enough.load(); };
        queue.drain_until(until);
    });
    while (!polling)
        std::this_thread::yield();
    task_that_pushes_itself endless(queue);
    endless.round_ends();
    queue.end_operation();
    enough = true;
    poller.join();
    endless.end();
}

TEST(look_pace, follows_how_often_others_poll) {
    using thence::detail::look_pace;
    look_pace pace;
    EXPECT_EQ(pace.ms(), look_pace::shortest_ms);
    for (int i = 0; i < 10; ++i)
        pace.looked(100000, false);
    EXPECT_EQ(pace.ms(), look_pace::longest_ms);
    pace.looked(2, false);
    EXPECT_EQ(pace.ms(), look_pace::shortest_ms) << "tasks are long";
    pace.looked(100000, false);
    EXPECT_EQ(pace.ms(), 2 * look_pace::shortest_ms);
    pace.looked(100000, true);
    EXPECT_EQ(pace.ms(), look_pace::shortest_ms) << "of two queues one gets on";
}

} // namespace
