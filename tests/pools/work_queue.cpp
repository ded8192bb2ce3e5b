// SPDX-License-Identifier: BSD-3-Clause
// The queue of a pool: who is called when, in which order tasks run, and that none is lost. Without MPI and oneTBB: the
// test lends the threads.
#include "queue_task.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace {

using queue_tests::noting_host;
using queue_tests::task;
using thence::detail::pool_task;
using thence::detail::urgency;
using thence::detail::work_queue;

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

// MPI makes no progress while callbacks run.
TEST_F(queue_of_tasks, is_stuck_while_a_poll_runs_many_callbacks) {
    queue.begin_operation();
    queue.begin_operation();
    queue.begin_operation();
    std::vector<bool> stuck;
    host.in_progress = [&] {
        queue.end_operation();
        stuck.push_back(queue.stuck());
        queue.end_operation();
        stuck.push_back(queue.stuck());
        queue.end_operation();
    };
    queue.drain_called();
    EXPECT_EQ(stuck, (std::vector{true, true}));
    drain_rest(1);
}

TEST_F(queue_of_tasks, operations_that_end_in_polls_are_signs_of_them) {
    queue.begin_operation();
    queue.begin_operation();
    queue.begin_operation();
    host.in_progress = [&] {
        queue.end_operation();
        queue.end_operation();
    };
    std::thread([&] { queue.end_operation(); }).join(); // not in a poll
    EXPECT_EQ(queue.signs_of_polls(), 0UL);
    queue.drain_called();
    EXPECT_EQ(queue.signs_of_polls(), 3UL) << "two operations and the poll";
    drain_rest(1);
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
    EXPECT_EQ(queue.signs_of_polls(), static_cast<unsigned long>(host.polls));
}

} // namespace
