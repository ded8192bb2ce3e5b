// SPDX-License-Identifier: BSD-3-Clause
// Tasks: spawned, blocked, with events; and the numbers of the threads that run them.
#include "support.hpp"

#include <thence/dataflow.h>
#include <thence/dataflow/detail/exports.hpp>

#include <list>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

namespace {

using test::self;
using test::spawned;
using test::wait_until;

void nothing(void *) {}

TEST(alpi_tasks, main_is_no_task) {
    EXPECT_EQ(self(), nullptr);
    EXPECT_EQ(alpi_task_self(nullptr), ALPI_ERR_PARAMETER);
    int any = 0;
    auto *const task = reinterpret_cast<alpi_task *>(&any);
    std::uint64_t value = 0;
    EXPECT_EQ(alpi_task_block(task), ALPI_ERR_OUTSIDE_TASK);
    EXPECT_EQ(alpi_task_events_increase(task, 1), ALPI_ERR_OUTSIDE_TASK);
    EXPECT_EQ(alpi_task_events_test(task, &value), ALPI_ERR_OUTSIDE_TASK);
    EXPECT_EQ(alpi_task_suspend_mode_set(task, ALPI_SUSPEND_SUBMIT, 0), ALPI_ERR_OUTSIDE_TASK);
    EXPECT_EQ(alpi_task_suspend(task), ALPI_ERR_OUTSIDE_TASK);
    EXPECT_EQ(alpi_cpu_logical_id(&value), ALPI_ERR_OUTSIDE_TASK);
    EXPECT_EQ(alpi_cpu_system_id(&value), ALPI_ERR_OUTSIDE_TASK);
}

TEST(alpi_tasks, main_may_wait) {
    std::uint64_t waited = 0;
    EXPECT_EQ(alpi_task_waitfor_ns(1000000, &waited), ALPI_SUCCESS);
    EXPECT_GE(waited, 1000000U);
    EXPECT_EQ(alpi_task_waitfor_ns(0, nullptr), ALPI_SUCCESS);
}

TEST(alpi_tasks, both_functions_of_a_spawned_task_are_needed) {
    EXPECT_EQ(alpi_task_spawn(nullptr, nullptr, nothing, nullptr, "no body", nullptr), ALPI_ERR_PARAMETER);
    EXPECT_EQ(alpi_task_spawn(nothing, nullptr, nullptr, nullptr, "no completion", nullptr), ALPI_ERR_PARAMETER);
}

TEST(alpi_tasks, handles_of_others_are_refused) {
    alpi_task *first = nullptr;
    std::atomic<bool> tried{false};
    std::atomic<bool> known{false};
    const spawned one([&] {
        first = self();
        known = true;
        while (!tried) {
            EXPECT_EQ(alpi_task_waitfor_ns(0, nullptr), ALPI_SUCCESS);
        }
    });
    const spawned other([&] {
        while (!known) {
            EXPECT_EQ(alpi_task_waitfor_ns(0, nullptr), ALPI_SUCCESS);
        }
        std::uint64_t value = 0;
        EXPECT_NE(self(), first);
        EXPECT_EQ(alpi_task_block(first), ALPI_ERR_PARAMETER);
        EXPECT_EQ(alpi_task_events_increase(first, 1), ALPI_ERR_PARAMETER);
        EXPECT_EQ(alpi_task_events_test(first, &value), ALPI_ERR_PARAMETER);
        EXPECT_EQ(alpi_task_suspend_mode_set(first, ALPI_SUSPEND_SUBMIT, 0), ALPI_ERR_PARAMETER);
        EXPECT_EQ(alpi_task_suspend(first), ALPI_ERR_PARAMETER);
        EXPECT_EQ(alpi_task_block(nullptr), ALPI_ERR_PARAMETER);
        tried = true;
    });
    EXPECT_EQ(alpi_task_unblock(nullptr), ALPI_ERR_PARAMETER);
    EXPECT_EQ(alpi_task_events_decrease(nullptr, 1), ALPI_ERR_PARAMETER);
}

TEST(alpi_tasks, an_unblock_may_come_first_and_only_once) {
    const spawned one([] {
        EXPECT_EQ(alpi_task_unblock(self()), ALPI_SUCCESS);
        EXPECT_EQ(alpi_task_unblock(self()), ALPI_ERR_PARAMETER);
        EXPECT_EQ(alpi_task_block(self()), ALPI_SUCCESS);
    });
}

TEST(alpi_tasks, a_blocked_task_keeps_no_worker) {
    constexpr int many = 50;
    std::mutex mutex;
    std::set<alpi_task *> blocked;
    std::list<spawned> all;
    for (int i = 0; i < many; ++i) {
        all.emplace_back([&] {
            {
                const std::scoped_lock guard(mutex);
                blocked.insert(self());
            }
            EXPECT_EQ(alpi_task_block(self()), ALPI_SUCCESS);
        });
    }
    wait_until([&] {
        const std::scoped_lock guard(mutex);
        return blocked.size() == many;
    });
    for (alpi_task *each : blocked) {
        EXPECT_EQ(alpi_task_unblock(each), ALPI_SUCCESS);
    }
}

TEST(alpi_tasks, a_task_is_complete_after_its_events) {
    std::atomic<alpi_task *> task{nullptr};
    const spawned one([&] {
        std::uint64_t some = 2;
        EXPECT_EQ(alpi_task_events_test(self(), &some), ALPI_SUCCESS);
        EXPECT_EQ(some, 0U);
        EXPECT_EQ(alpi_task_events_increase(self(), 0), ALPI_SUCCESS);
        EXPECT_EQ(alpi_task_events_increase(self(), 3), ALPI_SUCCESS);
        EXPECT_EQ(alpi_task_events_test(self(), &some), ALPI_SUCCESS);
        EXPECT_EQ(some, 1U);
        EXPECT_EQ(alpi_task_events_test(self(), nullptr), ALPI_ERR_PARAMETER);
        EXPECT_EQ(alpi_task_events_increase(self(), UINT64_MAX), ALPI_ERR_PARAMETER);
        task = self();
    });
    wait_until([&] { return task.load() != nullptr; });
    EXPECT_EQ(alpi_task_events_decrease(task, 4), ALPI_ERR_PARAMETER);
    EXPECT_EQ(alpi_task_events_decrease(task, 0), ALPI_SUCCESS);
    EXPECT_EQ(alpi_task_events_decrease(task, 1), ALPI_SUCCESS);
    EXPECT_FALSE(one.complete());
    EXPECT_EQ(alpi_task_events_decrease(task, 2), ALPI_SUCCESS);
}

TEST(alpi_tasks, wait_keeps_no_worker) {
    std::atomic<int> ran{0};
    const spawned waits([&] {
        while (ran == 0) {
            std::uint64_t waited = 0;
            EXPECT_EQ(alpi_task_waitfor_ns(100000, &waited), ALPI_SUCCESS);
            EXPECT_GE(waited, 100000U);
        }
    });
    const spawned other([&] { ++ran; });
}

TEST(alpi_tasks, no_two_threads_have_one_number_at_a_time) {
    std::uint64_t count = 0;
    EXPECT_EQ(alpi_cpu_count(&count), ALPI_SUCCESS);
    EXPECT_GE(count, 1U);
    EXPECT_EQ(alpi_cpu_count(nullptr), ALPI_ERR_PARAMETER);
    EXPECT_EQ(alpi_cpu_logical_id(nullptr), ALPI_ERR_PARAMETER);
    EXPECT_EQ(alpi_cpu_system_id(nullptr), ALPI_ERR_PARAMETER);
    std::vector<std::atomic<int>> users(count);
    std::list<spawned> all;
    for (int i = 0; i < 200; ++i) {
        all.emplace_back([&] {
            std::uint64_t number = count;
            ASSERT_EQ(alpi_cpu_logical_id(&number), ALPI_SUCCESS);
            ASSERT_LT(number, count);
            EXPECT_EQ(users[number].fetch_add(1), 0);
            std::this_thread::yield();
            EXPECT_EQ(users[number].fetch_sub(1), 1);
            std::uint64_t processor = 0;
            EXPECT_EQ(alpi_cpu_system_id(&processor), ALPI_SUCCESS);
        });
    }
}

// The workers are kept busy, so the thread that waits runs the task that asks.
TEST(alpi_tasks, threads_that_wait_one_after_another_each_have_a_number) {
    std::uint64_t count = 0;
    ASSERT_EQ(alpi_cpu_count(&count), ALPI_SUCCESS);
    const int workers = thence::libthence_tasks::workers_of(thence::libthence_tasks::default_flow());
    std::list<std::thread> threads;
    std::atomic<bool> over{false};
    for (std::uint64_t i = 0; i < count + 2; ++i) {
        struct {
            std::atomic<int> busy{0};
            std::atomic<bool> asked{false};
            std::atomic<bool> waited{false};
            std::thread::id asked_on;
            int result = -1;
        } seen;
        threads.emplace_back([&seen, &over, workers] {
            for (int each = 0; each < workers; ++each) {
                const auto stays = [](void *data) {
                    auto &to = *static_cast<decltype(&seen)>(data);
                    std::uint64_t number = 0;
                    EXPECT_EQ(alpi_cpu_logical_id(&number), ALPI_SUCCESS);
                    ++to.busy;
                    wait_until([&to] { return to.asked.load(); });
                };
                EXPECT_EQ(thence_flow_submit(0, nullptr, stays, &seen, nullptr), 0);
            }
            wait_until([&seen, workers] { return seen.busy == workers; });
            const auto asks = [](void *data) {
                auto &to = *static_cast<decltype(&seen)>(data);
                std::uint64_t number = 0;
                to.result = alpi_cpu_logical_id(&number);
                to.asked_on = std::this_thread::get_id();
                to.asked = true;
            };
            EXPECT_EQ(thence_flow_submit(0, nullptr, asks, &seen, nullptr), 0);
            EXPECT_EQ(thence_flow_taskwait(), 0);
            seen.waited = true;
            wait_until([&over] { return over.load(); });
        });
        wait_until([&seen] { return seen.waited.load(); });
        EXPECT_EQ(seen.asked_on, threads.back().get_id());
        EXPECT_EQ(seen.result, ALPI_SUCCESS) << "thread " << i;
    }
    over = true;
    for (std::thread &each : threads) {
        each.join();
    }
}

} // namespace
