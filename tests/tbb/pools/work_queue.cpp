// SPDX-License-Identifier: BSD-3-Clause
// The queue of a pool: when it calls a worker, in which order tasks run, and that none is lost. Without MPI and oneTBB:
// the tests are the threads.
#include "queue_task.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace {

using queue_tests::counting_host;
using queue_tests::task;
using thence::detail::pool_task;
using thence::detail::urgency;
using thence::detail::work_queue;

struct queue_of_tasks : testing::Test {
    /** Runs the workers that were called, except the first `arrived`, which have run already. */
    void run_other_workers(int arrived) {
        for (; arrived < host.calls; ++arrived) {
            queue.run_as_worker();
        }
    }
    counting_host host;
    work_queue queue{host};
    std::string order;
    std::vector<std::unique_ptr<task>> tasks;

    pool_task &add(std::function<void()> body) { return *tasks.emplace_back(std::make_unique<task>(std::move(body))); }
    pool_task &letter(char c) {
        return add([this, c] { order += c; });
    }
};

TEST_F(queue_of_tasks, calls_one_worker_for_tasks_for_which_none_searches) {
    queue.push(letter('a'), urgency::normal);
    queue.push(letter('b'), urgency::normal);
    EXPECT_EQ(host.calls, 1);
    queue.run_as_worker();
    EXPECT_EQ(order, "ab");
    EXPECT_EQ(host.calls, 2) << "one for b, which was in the queue while a ran";
    queue.push(letter('c'), urgency::normal);
    EXPECT_EQ(host.calls, 2) << "the worker is still on its way";
    queue.run_as_worker();
    EXPECT_EQ(order, "abc");
}

TEST_F(queue_of_tasks, urgent_tasks_run_first) {
    queue.push(letter('n'), urgency::normal);
    queue.push(letter('x'), urgency::high);
    queue.push(letter('y'), urgency::high);
    queue.run_as_worker();
    EXPECT_EQ(order, "xyn");
    run_other_workers(1);
}

TEST_F(queue_of_tasks, no_task_waits_for_the_end_of_another) {
    int calls_in_a = 0;
    int calls_in_b = 0;
    queue.push(add([&] { calls_in_a = host.calls; }), urgency::normal);
    queue.push(add([&] {
                   calls_in_b = host.calls;
                   queue.push(letter('c'), urgency::normal);
                   EXPECT_EQ(host.calls, calls_in_b) << "one is on its way already";
               }),
               urgency::normal);
    queue.run_as_worker();
    EXPECT_EQ(calls_in_a, 2) << "b was in the queue, so another worker was called before a ran";
    EXPECT_EQ(order, "c");
    queue.run_as_worker();
}

TEST_F(queue_of_tasks, a_push_in_a_task_calls_another_worker) {
    queue.push(add([&] {
                   EXPECT_EQ(host.calls, 1);
                   queue.push(letter('b'), urgency::normal);
                   EXPECT_EQ(host.calls, 2);
               }),
               urgency::normal);
    queue.run_as_worker();
    EXPECT_EQ(order, "b");
    queue.run_as_worker();
}

TEST_F(queue_of_tasks, polls_until_no_operation_is_outstanding) {
    queue.begin_operation();
    EXPECT_EQ(host.calls, 1);
    queue.begin_operation();
    EXPECT_EQ(host.calls, 1);
    host.in_progress = [&] {
        if (host.polls == 3 || host.polls == 100) {
            queue.end_operation();
        }
    };
    queue.run_as_worker();
    EXPECT_EQ(host.polls, 100);
    EXPECT_GE(host.yields, 2) << "after polls that find nothing, other tasks of the scheduler run first";
}

TEST_F(queue_of_tasks, a_poll_that_completes_one_operation_and_begins_another_has_found_something) {
    queue.begin_operation();
    host.in_progress = [&] {
        if (host.polls < 1000) {
            queue.begin_operation(); // as inline work does
        }
        queue.end_operation();
    };
    queue.run_as_worker();
    EXPECT_EQ(host.polls, 1000);
    EXPECT_EQ(host.yields, 0);
}

TEST_F(queue_of_tasks, tasks_that_a_poll_finds_run_before_the_next_poll) {
    queue.begin_operation();
    host.in_progress = [&] {
        EXPECT_TRUE(queue.push_to_poller(letter(static_cast<char>('0' + host.polls)), urgency::normal));
        EXPECT_TRUE(queue.push_to_poller(letter('!'), urgency::high));
        if (host.polls == 3) {
            queue.end_operation();
        }
    };
    queue.run_as_worker();
    EXPECT_EQ(order, "!1!2!3");
    for (int i = 1; i < host.calls; ++i) {
        queue.run_as_worker();
    }
}

TEST_F(queue_of_tasks, only_the_thread_that_polls_adds_tasks_without_the_lock) {
    EXPECT_FALSE(queue.push_to_poller(letter('a'), urgency::normal));
    queue.push(add([&] { EXPECT_FALSE(queue.push_to_poller(letter('a'), urgency::normal)) << "in a task"; }),
               urgency::normal);
    queue.run_as_worker();
    counting_host other_host;
    work_queue other(other_host);
    queue.begin_operation();
    host.in_progress = [&] {
        EXPECT_FALSE(other.push_to_poller(letter('a'), urgency::normal)) << "it polls for another queue";
        queue.end_operation();
    };
    queue.run_as_worker();
    EXPECT_EQ(order, "");
}

TEST_F(queue_of_tasks, polling_tasks_run_once_per_poll) {
    int runs = 0;
    pool_task *again = nullptr;
    again = &add([&] {
        if (++runs < 5) {
            queue.push_polling_task(*again);
        } else {
            queue.end_operation();
        }
    });
    queue.begin_operation();
    queue.push_polling_task(*again);
    queue.run_as_worker();
    EXPECT_EQ(runs, 5);
    EXPECT_EQ(host.polls, 5) << "other operations make progress too";
}

TEST_F(queue_of_tasks, an_operation_that_begins_in_a_task_calls_no_worker) {
    queue.push(add([&] {
                   queue.begin_operation();
                   EXPECT_EQ(host.calls, 1) << "this worker searches again after the task";
               }),
               urgency::normal);
    host.in_progress = [&] { queue.end_operation(); };
    queue.run_as_worker();
    EXPECT_EQ(host.polls, 1);
}

TEST_F(queue_of_tasks, a_task_that_suspends_itself_calls_another_worker_before) {
    queue.push(add([&] {
                   queue.ensure_searching_worker();
                   EXPECT_EQ(host.calls, 2);
                   queue.ensure_searching_worker();
                   EXPECT_EQ(host.calls, 2);
               }),
               urgency::normal);
    queue.run_as_worker();
    queue.run_as_worker();
}

TEST_F(queue_of_tasks, is_stalled_if_no_thread_polls_between_two_checks) {
    EXPECT_FALSE(queue.check_stalled()) << "nothing to do";
    queue.begin_operation();
    EXPECT_TRUE(queue.check_stalled());
    EXPECT_EQ(host.calls, 1) << "one is on its way";
    queue.push(add([&] {
                   EXPECT_TRUE(queue.check_stalled()) << "a task runs, and no thread polls";
                   EXPECT_EQ(host.calls, 2) << "another worker is called";
               }),
               urgency::normal);
    host.in_progress = [&] {
        if (host.polls == 2) {
            queue.end_operation();
        } else {
            queue.push(add([&] { EXPECT_FALSE(queue.check_stalled()) << "a poll has ended since"; }), urgency::normal);
        }
    };
    queue.run_as_worker();
    EXPECT_EQ(host.polls, 2);
    queue.run_as_worker();
}

// MPI makes no progress while callbacks run.
TEST_F(queue_of_tasks, is_stalled_while_a_poll_runs_many_callbacks) {
    queue.begin_operation();
    queue.begin_operation();
    queue.begin_operation();
    std::vector<bool> stalled;
    host.in_progress = [&] {
        queue.end_operation();
        stalled.push_back(queue.check_stalled());
        queue.end_operation();
        stalled.push_back(queue.check_stalled());
        queue.end_operation();
    };
    queue.run_as_worker();
    EXPECT_EQ(stalled, (std::vector{true, true}));
    run_other_workers(1);
}

TEST_F(queue_of_tasks, operations_that_complete_in_polls_count_as_activity) {
    queue.begin_operation();
    queue.begin_operation();
    queue.begin_operation();
    host.in_progress = [&] {
        queue.end_operation();
        queue.end_operation();
    };
    std::thread([&] { queue.end_operation(); }).join(); // not in a poll
    EXPECT_EQ(queue.poll_activity(), 0UL);
    queue.run_as_worker();
    EXPECT_EQ(queue.poll_activity(), 3UL) << "two operations and the poll";
    run_other_workers(1);
}

TEST_F(queue_of_tasks, is_stalled_if_a_task_waits_and_none_is_begun) {
    queue.push(letter('a'), urgency::normal);
    EXPECT_TRUE(queue.check_stalled());
    queue.run_as_worker();
    EXPECT_FALSE(queue.check_stalled());
}

TEST_F(queue_of_tasks, polls_between_tasks_that_never_end) {
    int ran = 0;
    pool_task *again = nullptr;
    again = &add([&] {
        ++ran;
        if (queue.operations() > 0) {
            queue.push(*again, urgency::normal);
        }
    });
    queue.begin_operation();
    queue.push(*again, urgency::normal);
    host.in_progress = [&] {
        if (host.polls == 3) {
            queue.end_operation();
        }
    };
    queue.run_as_worker();
    EXPECT_EQ(host.polls, 3);
    EXPECT_LT(ran, 1000);
    run_other_workers(1);
}

TEST_F(queue_of_tasks, nested_work_runs_at_once_up_to_a_depth) {
    EXPECT_FALSE(queue.run_nested([] { FAIL(); })) << "in no task";
    int deepest = 0;
    std::function<void(int)> down = [&](int depth) {
        deepest = depth;
        queue.run_nested([&] { down(depth + 1); });
    };
    queue.push(add([&] { down(0); }), urgency::normal);
    queue.push(add([&] { EXPECT_TRUE(queue.run_nested([] {})) << "the next task begins without nested work"; }),
               urgency::normal);
    queue.run_as_worker();
    EXPECT_GE(deepest, 4);
    EXPECT_LE(deepest, 16);
    EXPECT_FALSE(queue.run_nested([] { FAIL(); })) << "the worker has left";
    queue.run_as_worker();
}

TEST_F(queue_of_tasks, a_thread_that_waits_leaves_when_its_condition_holds_and_calls_a_worker_for_other_tasks) {
    bool done = false;
    auto condition = [&] { return done; };
    queue.push(add([&] { done = true; }), urgency::normal);
    queue.push(letter('b'), urgency::normal);
    queue.run_until(condition);
    EXPECT_EQ(order, "");
    EXPECT_GE(host.calls, 1);
    for (int i = host.calls; i > 0; --i) {
        queue.run_as_worker();
    }
    EXPECT_EQ(order, "b");
}

TEST_F(queue_of_tasks, a_thread_that_waits_polls_for_operations_outside_of_the_queue) {
    host.polls_while_waiting = true;
    bool done = false;
    host.in_progress = [&] { done = host.polls == 5; };
    auto condition = [&] { return done; };
    queue.run_until(condition);
    EXPECT_EQ(host.polls, 5);
    EXPECT_EQ(host.calls, 0) << "it polls itself";
    EXPECT_EQ(host.begins, 1) << "the watchdog was woken";
    EXPECT_FALSE(queue.waited_for());
}

TEST_F(queue_of_tasks, a_thread_that_waits_polls_between_tasks_that_never_end) {
    host.polls_while_waiting = true;
    bool done = false;
    pool_task *again = nullptr;
    again = &add([&] {
        if (!done) {
            queue.push(*again, urgency::normal);
        }
    });
    queue.push(*again, urgency::normal);
    host.in_progress = [&] { done = host.polls == 3; };
    auto condition = [&] { return done; };
    queue.run_until(condition);
    EXPECT_EQ(host.polls, 3);
    run_other_workers(0);
}

TEST_F(queue_of_tasks, a_thread_that_waits_does_not_poll_if_its_host_says_so) {
    int tests = 0;
    auto condition = [&] { return ++tests == 5; };
    queue.run_until(condition);
    EXPECT_EQ(host.polls, 0);
}

TEST_F(queue_of_tasks, a_thread_with_at_least_one_round_polls_before_it_tests_its_condition) {
    queue.begin_operation();
    host.in_progress = [&] {
        queue.push_to_poller(letter('a'), urgency::normal);
        queue.end_operation();
    };
    auto always = [] { return true; };
    queue.run_until(always, true);
    EXPECT_EQ(host.polls, 1);
    EXPECT_EQ(order, "") << "workers run the tasks";
    run_other_workers(0);
    EXPECT_EQ(order, "a");
}

TEST_F(queue_of_tasks, a_round_polls_only_if_there_is_something_to_poll_for) {
    auto always = [] { return true; };
    queue.run_until(always, true);
    EXPECT_EQ(host.polls, 0);
    EXPECT_FALSE(queue.waited_for());
}

TEST_F(queue_of_tasks, does_not_pause_while_polls_find_something) {
    queue.begin_operation();
    host.finds_something = true;
    host.in_progress = [&] {
        if (host.polls == 1000) {
            queue.end_operation();
        }
    };
    queue.run_as_worker();
    EXPECT_EQ(host.yields, 0);
}

TEST_F(queue_of_tasks, is_waited_for_while_a_thread_waits) {
    host.polls_while_waiting = true;
    bool seen = false;
    host.in_progress = [&] { seen = queue.waited_for(); };
    auto condition = [&] { return seen; };
    queue.run_until(condition);
    EXPECT_EQ(queue.poll_activity(), static_cast<unsigned long>(host.polls));
}

} // namespace
