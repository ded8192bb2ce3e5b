// SPDX-License-Identifier: BSD-3-Clause
// What is urgent goes first: in the queue, in polls, and where a suspended task is resumed.
#include "queue_task.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace {

using queue_tests::counting_host;
using queue_tests::task;
using thence::detail::pool_task;
using thence::detail::urgency;
using thence::detail::work_queue;

struct urgent_work : testing::Test {
    counting_host host;
    work_queue queue{host};
    std::string order;
    std::vector<std::unique_ptr<task>> tasks;

    pool_task &add(std::function<void()> body) { return *tasks.emplace_back(std::make_unique<task>(std::move(body))); }
    pool_task &letter(char c) {
        return add([this, c] { order += c; });
    }
    void push(const char *letters, urgency how) {
        for (; *letters != 0; ++letters) {
            queue.push(letter(*letters), how);
        }
    }
    void run_all_workers() {
        for (int arrived = 0; arrived < host.calls; ++arrived) {
            queue.run_as_worker();
        }
    }
};

TEST_F(urgent_work, an_urgent_operation_is_polled_for_after_each_other_task) {
    queue.begin_operation(urgency::high);
    push("abcdef", urgency::normal);
    host.in_progress = [&] {
        order += '.';
        if (host.polls == 3) {
            queue.end_operation(urgency::high);
        }
    };
    run_all_workers();
    EXPECT_EQ(order, "a.b.c.def");
}

TEST_F(urgent_work, other_operations_are_polled_for_after_the_tasks) {
    queue.begin_operation();
    push("abc", urgency::normal);
    host.in_progress = [&] {
        order += '.';
        queue.end_operation();
    };
    run_all_workers();
    EXPECT_EQ(order, "abc.");
}

TEST_F(urgent_work, urgent_tasks_run_before_such_a_poll) {
    queue.begin_operation(urgency::high);
    push("ab", urgency::normal);
    push("xyz", urgency::high);
    host.in_progress = [&] {
        order += '.';
        queue.end_operation(urgency::high);
    };
    run_all_workers();
    EXPECT_EQ(order, "xyza.b");
}

TEST_F(urgent_work, what_a_poll_for_an_urgent_operation_finds_is_next) {
    queue.begin_operation(urgency::high);
    push("abc", urgency::normal);
    host.in_progress = [&] {
        queue.end_operation(urgency::high);
        EXPECT_TRUE(queue.push_to_poller(letter('!'), urgency::high));
    };
    run_all_workers();
    EXPECT_EQ(order, "a!bc");
}

TEST_F(urgent_work, tests_of_urgent_operations_come_first_in_a_poll) {
    queue.begin_operation();
    queue.begin_operation(urgency::high);
    queue.push_polling_task(add([&] {
        order += 'n';
        queue.end_operation();
    }));
    queue.push_polling_task(add([&] {
                                order += 'u';
                                queue.end_operation(urgency::high);
                            }),
                            urgency::high);
    host.in_progress = [&] { order += '.'; };
    run_all_workers();
    EXPECT_EQ(order, "u.n");
}

// The scheduler resumes the task while a worker yields to it.
TEST_F(urgent_work, a_worker_yields_for_an_urgent_task_that_is_resumed_after_each_other_task) {
    queue.resuming(urgency::high);
    push("abcd", urgency::normal);
    host.in_yield = [&] {
        order += 'r';
        if (host.yields == 2) {
            queue.resumed(urgency::high);
        }
    };
    run_all_workers();
    EXPECT_EQ(order, "arbrcd");
}

TEST_F(urgent_work, other_tasks_that_are_resumed_wait_for_the_end_of_a_row) {
    queue.resuming();
    push("abcd", urgency::normal);
    host.in_yield = [&] { order += 'r'; };
    run_all_workers();
    EXPECT_EQ(order, "abcd");
    queue.resumed();
}

// Also while all tasks are followed by a poll, other tasks of the scheduler get the thread now and then.
TEST_F(urgent_work, polls_for_urgent_operations_do_not_keep_a_worker_from_yielding) {
    queue.begin_operation(urgency::high);
    int left = 1000;
    host.in_progress = [&] {
        if (--left == 0) {
            queue.end_operation(urgency::high);
        }
    };
    for (int i = 0; i < 1000; ++i) {
        queue.push(add([] {}), urgency::normal);
    }
    run_all_workers();
    EXPECT_EQ(host.polls, 1000);
    EXPECT_GE(host.yields, 10);
}

TEST(urgent_work_without_workers, a_waiting_thread_polls_after_each_other_task_too) {
    counting_host host;
    work_queue queue(host, true);
    std::string order;
    std::vector<std::unique_ptr<task>> tasks;
    for (const char c : {'a', 'b', 'c'}) {
        tasks.push_back(std::make_unique<task>([&order, c] { order += c; }));
        queue.push(*tasks.back(), urgency::normal);
    }
    queue.begin_operation(urgency::high);
    host.in_progress = [&] {
        order += '.';
        if (host.polls == 2) {
            queue.end_operation(urgency::high);
        }
    };
    auto all = [&] { return order.size() == 5; };
    queue.run_until(all);
    EXPECT_EQ(order, "a.b.c");
}

} // namespace
