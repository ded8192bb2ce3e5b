// SPDX-License-Identifier: BSD-3-Clause
// A suspended task: its body runs again from the start. It is complete when a body ends without that.
#include "support.hpp"

#include <thence/dataflow.hpp>

#include <chrono>

namespace {

using test::self;
using test::spawned;
using test::wait_until;

TEST(alpi_suspend, the_body_runs_again_while_it_says_so) {
    int turns = 0;
    {
        const spawned one([&] {
            if (++turns == 100) {
                return;
            }
            EXPECT_EQ(alpi_task_suspend_mode_set(self(), ALPI_SUSPEND_SUBMIT, turns % 2), ALPI_SUCCESS);
            EXPECT_EQ(alpi_task_suspend(self()), ALPI_SUCCESS);
        });
    }
    EXPECT_EQ(turns, 100);
}

TEST(alpi_suspend, a_mode_alone_suspends_nothing) {
    int turns = 0;
    {
        const spawned one([&] {
            ++turns;
            EXPECT_EQ(alpi_task_suspend_mode_set(self(), ALPI_SUSPEND_SUBMIT, 0), ALPI_SUCCESS);
        });
    }
    EXPECT_EQ(turns, 1);
}

TEST(alpi_suspend, bad_modes_are_refused) {
    const spawned one([] {
        EXPECT_EQ(alpi_task_suspend_mode_set(self(), ALPI_SUSPEND_SUBMIT, 2), ALPI_ERR_PARAMETER);
        EXPECT_EQ(alpi_task_suspend_mode_set(self(), 4, 0), ALPI_ERR_PARAMETER);
        EXPECT_EQ(alpi_task_suspend_mode_set(self(), -1, 0), ALPI_ERR_PARAMETER);
    });
}

TEST(alpi_suspend, others_run_between_the_turns) {
    std::atomic<bool> ran{false};
    const spawned polls([&] {
        if (ran) {
            return;
        }
        EXPECT_EQ(alpi_task_suspend_mode_set(self(), ALPI_SUSPEND_SUBMIT, 1), ALPI_SUCCESS);
        EXPECT_EQ(alpi_task_suspend(self()), ALPI_SUCCESS);
    });
    const spawned other([&] { ran = true; });
}

TEST(alpi_suspend, after_a_time) {
    using clock = std::chrono::steady_clock;
    constexpr std::uint64_t pause = 2000000;
    int turns = 0;
    clock::time_point first;
    clock::time_point second;
    {
        const spawned one([&] {
            (++turns == 1 ? first : second) = clock::now();
            if (turns == 2) {
                return;
            }
            EXPECT_EQ(alpi_task_suspend_mode_set(self(), ALPI_SUSPEND_TIMEOUT_SUBMIT, pause), ALPI_SUCCESS);
            EXPECT_EQ(alpi_task_suspend(self()), ALPI_SUCCESS);
        });
    }
    EXPECT_EQ(turns, 2);
    EXPECT_GE(second - first, std::chrono::nanoseconds(pause));
}

TEST(alpi_suspend, after_the_events) {
    std::atomic<int> turns{0};
    std::atomic<alpi_task *> task{nullptr};
    const spawned one([&] {
        std::uint64_t some = 1;
        if (++turns == 2) {
            EXPECT_EQ(alpi_task_events_test(self(), &some), ALPI_SUCCESS);
            EXPECT_EQ(some, 0U);
            return;
        }
        EXPECT_EQ(alpi_task_events_increase(self(), 2), ALPI_SUCCESS);
        EXPECT_EQ(alpi_task_suspend_mode_set(self(), ALPI_SUSPEND_EVENT_SUBMIT, 0), ALPI_SUCCESS);
        EXPECT_EQ(alpi_task_suspend(self()), ALPI_SUCCESS);
        task = self();
    });
    wait_until([&] { return task.load() != nullptr; });
    EXPECT_EQ(alpi_task_events_decrease(task, 1), ALPI_SUCCESS);
    EXPECT_EQ(turns, 1);
    EXPECT_EQ(alpi_task_events_decrease(task, 1), ALPI_SUCCESS);
    wait_until([&] { return turns == 2; });
}

TEST(alpi_suspend, without_events_it_waits_for_none) {
    int turns = 0;
    {
        const spawned one([&] {
            if (++turns == 3) {
                return;
            }
            EXPECT_EQ(alpi_task_suspend_mode_set(self(), ALPI_SUSPEND_EVENT_SUBMIT, 0), ALPI_SUCCESS);
            EXPECT_EQ(alpi_task_suspend(self()), ALPI_SUCCESS);
        });
    }
    EXPECT_EQ(turns, 3);
}

TEST(alpi_suspend, events_that_outlive_the_turns_delay_the_end) {
    std::atomic<int> turns{0};
    std::atomic<alpi_task *> task{nullptr};
    const spawned one([&] {
        if (++turns == 5) {
            task = self();
            return;
        }
        EXPECT_EQ(alpi_task_events_increase(self(), 1), ALPI_SUCCESS);
        EXPECT_EQ(alpi_task_suspend_mode_set(self(), ALPI_SUSPEND_SUBMIT, 0), ALPI_SUCCESS);
        EXPECT_EQ(alpi_task_suspend(self()), ALPI_SUCCESS);
    });
    wait_until([&] { return task.load() != nullptr; });
    EXPECT_EQ(alpi_task_events_decrease(task, 3), ALPI_SUCCESS);
    EXPECT_FALSE(one.complete());
    EXPECT_EQ(alpi_task_events_decrease(task, 1), ALPI_SUCCESS);
}

TEST(alpi_suspend, without_a_mode_an_unblock_lets_it_run_again) {
    std::atomic<int> turns{0};
    std::atomic<alpi_task *> task{nullptr};
    const spawned one([&] {
        const int turn = ++turns;
        if (turn == 3) {
            return;
        }
        EXPECT_EQ(alpi_task_suspend_mode_set(self(), ALPI_SUSPEND_NONE, 0), ALPI_SUCCESS);
        EXPECT_EQ(alpi_task_suspend(self()), ALPI_SUCCESS);
        if (turn == 1) {
            EXPECT_EQ(alpi_task_unblock(self()), ALPI_SUCCESS); // comes first
        } else {
            task = self();
        }
    });
    wait_until([&] { return task.load() != nullptr; });
    EXPECT_EQ(turns, 2);
    EXPECT_EQ(alpi_task_unblock(task), ALPI_SUCCESS);
    wait_until([&] { return turns == 3; });
}

// Of a task with dependences and children: its successors wait for the last turn and for all children.
TEST(alpi_suspend, tasks_with_dependences_too) {
    thence::flow graph({.workers = 2});
    for (const int mode : {ALPI_SUSPEND_SUBMIT, ALPI_SUSPEND_TIMEOUT_SUBMIT, ALPI_SUSPEND_EVENT_SUBMIT}) {
        int turns = 0;
        int seen = -1;
        std::atomic<int> children{0};
        graph.submit({thence::out(&turns)}, [&, mode] {
            graph.submit({}, [&] { ++children; });
            if (++turns == 10) {
                return;
            }
            EXPECT_EQ(alpi_task_suspend_mode_set(self(), mode, mode == ALPI_SUSPEND_TIMEOUT_SUBMIT ? 1000 : 0),
                      ALPI_SUCCESS);
            EXPECT_EQ(alpi_task_suspend(self()), ALPI_SUCCESS);
        });
        graph.submit({thence::in(&turns)}, [&] { seen = turns + 100 * children; });
        graph.taskwait();
        EXPECT_EQ(seen, 1010);
    }
}

TEST(alpi_suspend, an_exception_ends_the_task) {
    thence::flow graph({.workers = 2});
    int turns = 0;
    graph.submit({}, [&] {
        ++turns;
        EXPECT_EQ(alpi_task_suspend_mode_set(self(), ALPI_SUSPEND_SUBMIT, 0), ALPI_SUCCESS);
        EXPECT_EQ(alpi_task_suspend(self()), ALPI_SUCCESS);
        throw 1;
    });
    EXPECT_THROW(graph.taskwait(), int);
    EXPECT_EQ(turns, 1);
}

} // namespace
