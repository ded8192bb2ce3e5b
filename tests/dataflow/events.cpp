// SPDX-License-Identifier: BSD-3-Clause
// Events, onready, blocking, sleeping.
#include "support.hpp"

#include <memory>

namespace {

using test::held;

TEST(events, dependences_are_released_after_body_and_events) {
    int x = 0;
    thence::flow flow(test::two_workers());
    test::log order;
    held gate;
    flow.submit({thence::out(&x)}, [&] { gate.hold(); });
    flow.submit({thence::in(&x)}, [&] { order.add(2); });
    test::wait_until([&] { return gate.holds(); });
    order.add(1);
    gate.release();
    flow.taskwait();
    EXPECT_EQ(order.all(), (std::vector{1, 2}));
}

TEST(events, lowered_before_the_body_ends_they_do_not_release_it) {
    int x = 0;
    thence::flow flow(test::two_workers());
    bool ended = false;
    flow.submit({thence::out(&x)}, [&] {
        const thence::task_ref self = thence::current_task();
        thence::raise_events(self, 3);
        std::thread([self] { thence::lower_events(self, 3); }).join();
        ended = true;
    });
    flow.submit({thence::in(&x)}, [&] { EXPECT_TRUE(ended); });
    flow.taskwait();
}

TEST(events, lowering_below_zero_is_an_error_and_loses_nothing) {
    int x = 0;
    thence::flow flow(test::two_workers());
    std::atomic<bool> after{false};
    thence::task_ref task;
    held gate;
    flow.submit({thence::out(&x)}, [&] {
        task = thence::current_task();
        EXPECT_THROW(thence::lower_events(task, 1), std::invalid_argument); // not the body's own part
        gate.hold();
        thence::raise_events(task, 2);
    });
    flow.submit({thence::in(&x)}, [&] { after = true; });
    test::wait_until([&] { return gate.holds(); });
    EXPECT_THROW(thence::lower_events(task, 4), std::invalid_argument);
    EXPECT_THROW(thence::lower_events(task, UINT64_MAX), std::invalid_argument);
    EXPECT_THROW(thence::lower_events(thence::task_ref(), 1), std::invalid_argument);
    gate.release();
    test::wait_until([&] { return !thence::waiting_tasks().empty(); });
    EXPECT_FALSE(after);
    thence::lower_events(task, 2);
    flow.taskwait();
    EXPECT_TRUE(after);
}

TEST(events, only_the_task_itself_raises_them) {
    thence::flow flow(test::two_workers());
    held gate;
    thence::task_ref task;
    flow.submit({}, [&] {
        task = thence::current_task();
        EXPECT_THROW(thence::raise_events(task, UINT64_MAX), std::invalid_argument);
        gate.hold();
    });
    test::wait_until([&] { return gate.holds(); });
    EXPECT_THROW(thence::raise_events(task), std::invalid_argument);
    EXPECT_THROW(thence::raise_events(thence::task_ref()), std::invalid_argument);
    gate.release();
    flow.taskwait();
}

TEST(events, what_was_written_before_lowering_is_visible_to_successors) {
    thence::flow flow(test::two_workers());
    int data = 0; // no atomic: a race would be found by the thread sanitizer, too
    std::atomic<thence::detail::dataflow_task *> given{nullptr};
    std::thread other([&] {
        for (int i = 1; i <= 1000; ++i) {
            thence::detail::dataflow_task *task = nullptr;
            test::wait_until([&] { return (task = given.exchange(nullptr)) != nullptr; });
            data = i;
            thence::lower_events(thence::task_ref(task));
        }
    });
    for (int i = 1; i <= 1000; ++i) {
        flow.submit({thence::out(&data)}, [&] {
            const thence::task_ref self = thence::current_task();
            thence::raise_events(self);
            given = static_cast<thence::detail::dataflow_task *>(self.native());
        });
        flow.submit({thence::in(&data)}, [&, i] { EXPECT_EQ(data, i); });
    }
    flow.taskwait();
    other.join();
}

TEST(events, body_end_and_last_event_race_and_complete_once) {
    thence::flow flow(test::two_workers());
    long sum = 0;
    std::atomic<thence::detail::dataflow_task *> given{nullptr};
    std::atomic<bool> stop{false};
    std::thread other([&] {
        while (!stop) {
            if (thence::detail::dataflow_task *const task = given.exchange(nullptr)) {
                thence::lower_events(thence::task_ref(task));
            }
        }
    });
    for (int i = 0; i < 20000; ++i) {
        flow.submit({thence::inout(&sum)}, [&] {
            const thence::task_ref self = thence::current_task();
            thence::raise_events(self);
            given = static_cast<thence::detail::dataflow_task *>(self.native());
            ++sum;
        });
    }
    flow.taskwait();
    stop = true;
    other.join();
    EXPECT_EQ(sum, 20000);
}

TEST(events, captures_live_until_the_task_is_complete) {
    thence::flow flow(test::two_workers());
    held gate;
    const auto data = std::make_shared<int>(1);
    flow.submit({}, [&gate, data] { gate.hold(); });
    test::wait_until([&] { return gate.holds(); });
    EXPECT_EQ(data.use_count(), 2);
    gate.release();
    flow.taskwait();
    EXPECT_EQ(data.use_count(), 1);
}

TEST(onready, is_called_once_when_dependences_are_met_and_before_the_body) {
    int x = 0;
    thence::flow flow(test::two_workers());
    test::log order;
    flow.submit({thence::out(&x)}, [&] { order.add(1); });
    flow.submit({thence::in(&x)}, {.label = "second"}, thence::onready([&] {
                    EXPECT_TRUE(thence::current_task());
                    EXPECT_THROW(thence::block_current(), std::logic_error);
                    EXPECT_THROW(flow.submit({}, [] {}), std::logic_error);
                    EXPECT_THROW(flow.taskwait(), std::logic_error);
                    order.add(2);
                }),
                [&] { order.add(3); });
    flow.taskwait();
    EXPECT_EQ(order.all(), (std::vector{1, 2, 3}));
}

TEST(onready, its_events_delay_the_body_and_the_counter_begins_again) {
    int x = 0;
    thence::flow flow(test::two_workers());
    test::log order;
    held before;
    held after;
    flow.submit({thence::out(&x)}, thence::onready([&] { before.hold(); }), [&] {
        order.add(2);
        EXPECT_THROW(thence::lower_events(thence::current_task()), std::invalid_argument); // it is zero
        after.hold();
    });
    flow.submit({thence::in(&x)}, [&] { order.add(4); });
    test::wait_until([&] { return before.holds(); });
    for (int i = 0; i < 20; ++i) {
        std::atomic<bool> other{false};
        flow.submit({}, [&] { other = true; }); // the worker is free
        test::wait_until([&] { return other.load(); });
    }
    order.add(1);
    before.release();
    test::wait_until([&] { return after.holds(); });
    order.add(3);
    after.release();
    flow.taskwait();
    EXPECT_EQ(order.all(), (std::vector{1, 2, 3, 4}));
}

TEST(onready, events_lowered_inside_it_do_not_run_the_body_early) {
    thence::flow flow(test::two_workers());
    bool in_onready = false;
    int ran = 0;
    flow.submit({}, thence::onready([&] {
                    in_onready = true;
                    const thence::task_ref self = thence::current_task();
                    thence::raise_events(self, 2);
                    std::thread([self] { thence::lower_events(self, 2); }).join();
                    in_onready = false;
                }),
                [&] {
                    EXPECT_FALSE(in_onready);
                    ++ran;
                });
    flow.taskwait();
    EXPECT_EQ(ran, 1);
}

TEST(blocking, a_blocked_task_does_not_keep_its_worker) {
    thence::flow flow({.workers = 1});
    thence::task_ref task;
    std::atomic<bool> blocks{false};
    std::atomic<bool> went_on{false};
    flow.submit({}, [&] {
        task = thence::current_task();
        blocks = true;
        thence::block_current();
        EXPECT_EQ(thence::current_task(), task);
        went_on = true;
    });
    test::wait_until([&] { return blocks.load(); });
    std::atomic<int> others{0};
    for (int i = 0; i < 10; ++i) {
        flow.submit({}, [&] { ++others; });
    }
    test::wait_until([&] { return others == 10; });
    EXPECT_FALSE(went_on);
    thence::unblock(task);
    flow.taskwait();
    EXPECT_TRUE(went_on);
}

TEST(blocking, unblock_may_come_first_and_one_at_most) {
    thence::flow flow({.workers = 1});
    flow.submit({}, [&] {
        const thence::task_ref self = thence::current_task();
        for (int i = 0; i < 3; ++i) {
            thence::unblock(self);
            EXPECT_THROW(thence::unblock(self), std::logic_error);
            thence::block_current(); // returns at once
        }
    });
    flow.taskwait();
    EXPECT_THROW(thence::block_current(), std::logic_error);
    EXPECT_THROW(thence::unblock(thence::task_ref()), std::logic_error);
}

TEST(blocking, block_and_unblock_race) {
    thence::flow flow(test::two_workers());
    constexpr int rounds = 3000;
    std::atomic<thence::detail::dataflow_task *> given{nullptr};
    std::thread other([&] {
        for (int i = 0; i < rounds; ++i) {
            thence::detail::dataflow_task *task = nullptr;
            test::wait_until([&] { return (task = given.exchange(nullptr)) != nullptr; });
            thence::unblock(thence::task_ref(task));
        }
    });
    int blocked = 0;
    flow.submit({}, [&] {
        for (int i = 0; i < rounds; ++i) {
            given = static_cast<thence::detail::dataflow_task *>(thence::current_task().native());
            thence::block_current();
            ++blocked;
        }
    });
    flow.taskwait();
    other.join();
    EXPECT_EQ(blocked, rounds);
}

TEST(blocking, many_tasks_are_blocked_at_once) {
    thence::flow flow(test::two_workers());
    constexpr int count = 200;
    std::vector<thence::task_ref> tasks(count);
    std::atomic<int> here{0};
    std::atomic<int> done{0};
    for (int i = 0; i < count; ++i) {
        flow.submit({}, [&, i] {
            tasks[i] = thence::current_task();
            ++here;
            thence::block_current();
            ++done;
        });
    }
    test::wait_until([&] { return here == count; });
    EXPECT_EQ(done, 0);
    for (const thence::task_ref &each : tasks) {
        thence::unblock(each);
    }
    flow.taskwait();
    EXPECT_EQ(done, count);
}

TEST(sleeping, a_sleeping_task_does_not_keep_its_worker) {
    thence::flow flow({.workers = 1});
    std::atomic<bool> stop{false};
    std::atomic<int> polls{0};
    flow.submit({}, [&] { // a polling task
        while (!stop) {
            EXPECT_GE(thence::wait_for(100), 100U);
            ++polls;
        }
    });
    std::atomic<int> others{0};
    for (int i = 0; i < 100; ++i) {
        flow.submit({}, [&] { ++others; });
    }
    test::wait_until([&] { return others == 100 && polls > 10; });
    stop = true;
    flow.taskwait();
}

TEST(sleeping, with_no_time_ready_tasks_go_first) {
    thence::flow flow({.workers = 1});
    test::log order;
    std::atomic<bool> busy{false};
    std::atomic<bool> go{false};
    flow.submit({}, [&] {
        busy = true;
        while (!go) {
            std::this_thread::yield();
        }
        thence::wait_for(0);
        order.add(2);
    });
    test::wait_until([&] { return busy.load(); });
    flow.submit({}, [&] { order.add(1); });
    go = true;
    test::wait_until([&] { return order.all().size() == 2; });
    EXPECT_EQ(order.all(), (std::vector{1, 2}));
    flow.taskwait();
}

TEST(sleeping, many_tasks_sleep_for_different_times) {
    thence::flow flow(test::two_workers());
    std::atomic<int> done{0};
    for (int i = 0; i < 200; ++i) {
        flow.submit({}, [&, i] {
            const std::uint64_t time = 1 + static_cast<std::uint64_t>(i * 37 % 100) * 20;
            EXPECT_GE(thence::wait_for(time), time);
            ++done;
        });
    }
    flow.taskwait();
    EXPECT_EQ(done, 200);
    EXPECT_GE(thence::wait_for(1000), 1000U); // outside of tasks
}

TEST(reports, tasks_that_wait_are_listed_with_label_and_place) {
    thence::flow flow(test::two_workers());
    int x = 0;
    held gate;
    held ready;
    thence::task_ref blocked;
    std::atomic<bool> blocks{false};
    flow.submit({thence::out(&x)}, {.label = "holds"}, [&] { gate.hold(); });
    flow.submit({thence::in(&x)}, {.label = "follows"}, [&] {});
    flow.submit({}, {.label = "blocks"}, [&] {
        blocked = thence::current_task();
        blocks = true;
        thence::block_current();
    });
    flow.submit({}, {.label = "onready"}, thence::onready([&] { ready.hold(); }), [] {});
    const auto states = [] {
        std::vector<std::string> all;
        for (const thence::waiting_task &one : thence::waiting_tasks()) {
            EXPECT_NE(one.submitted_at, nullptr);
            all.push_back(one.label + " " + one.state + " " + std::to_string(one.events));
        }
        std::sort(all.begin(), all.end());
        return all;
    };
    const std::vector<std::string> expected{"blocks is blocked 0", "follows waits for earlier tasks 0",
                                            "holds has ended and waits for its events 1",
                                            "onready waits for the events of onready 1"};
    test::wait_until([&] { return states() == expected; });
    thence::unblock(blocked);
    gate.release();
    ready.release();
    flow.taskwait();
    EXPECT_TRUE(thence::waiting_tasks().empty());
}

// What a worker calls when it leaves, which holds no lock: it may make tasks ready.
held released_by_a_worker_that_leaves;

TEST(events, are_lowered_by_a_worker_that_stops) {
    int x = 0;
    bool ran = false;
    std::atomic<bool> submitted{false};
    thence::flow flow({.workers = 1});
    flow.submit({thence::out(&x)}, [&] {
        test::wait_until([&] { return submitted.load(); }); // else nothing would become ready
        released_by_a_worker_that_leaves.hold();
        thence::libthence_tasks::when_thread_stops([]() noexcept { released_by_a_worker_that_leaves.try_release(); });
    });
    flow.submit({thence::in(&x)}, [&] { ran = true; });
    submitted = true;
    flow.taskwait();
    EXPECT_TRUE(ran);
}

} // namespace
