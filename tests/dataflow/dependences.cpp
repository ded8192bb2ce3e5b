// SPDX-License-Identifier: BSD-3-Clause
// Which tasks wait for which.
#include "support.hpp"

namespace {

using test::held;
using thence::access;

// A task with `first` is held; one with `second` to the same data is submitted. @return whether that ran meanwhile,
// although tasks that were submitted later have.
bool runs_beside(access first, access second) {
    thence::flow flow(test::two_workers());
    held gate;
    std::atomic<bool> ran{false};
    flow.submit({first}, [&] { gate.hold(); });
    flow.submit({second}, [&] { ran = true; });
    test::wait_until([&] { return gate.holds(); });
    bool result = false;
    if (thence::detail::unordered(first.kind, second.kind) && first.kind != thence::access_kind::commutative) {
        test::wait_until([&] { return ran.load(); });
        result = true;
    } else {
        for (int i = 0; i < 20; ++i) { // tasks that came later run
            std::atomic<bool> later{false};
            flow.submit({}, [&] { later = true; });
            test::wait_until([&] { return later.load(); });
        }
        result = ran;
    }
    gate.release();
    flow.taskwait();
    EXPECT_TRUE(ran);
    return result;
}

TEST(dependences, accesses_that_conflict_are_in_order_and_others_are_not) {
    int x = 0;
    using maker = access (*)(const void *) noexcept;
    const maker kinds[] = {thence::in, thence::out, thence::inout, thence::concurrent, thence::commutative};
    for (const maker first : kinds) {
        for (const maker second : kinds) {
            const bool together = first == second && (first == thence::in || first == thence::concurrent);
            EXPECT_EQ(runs_beside(first(&x), second(&x)), together)
                << static_cast<int>(first(&x).kind) << " then " << static_cast<int>(second(&x).kind);
        }
    }
}

TEST(dependences, other_addresses_do_not_conflict) {
    char data[2] = {};
    thence::flow flow(test::two_workers());
    held gate;
    std::atomic<bool> ran{false};
    flow.submit({thence::out(&data[0])}, [&] { gate.hold(); });
    flow.submit({thence::out(&data[1])}, [&] { ran = true; });
    test::wait_until([&] { return ran.load(); });
    gate.release();
    flow.taskwait();
}

TEST(dependences, commutative_tasks_run_in_any_order_but_one_at_a_time) {
    int x = 0;
    int y = 0;
    thence::flow flow(test::two_workers());
    held gate;
    std::atomic<int> inside{0};
    std::atomic<int> ran{0};
    // The first one in the order of submission waits for y, so the others go before.
    flow.submit({thence::out(&y)}, [&] { gate.hold(); });
    flow.submit({thence::commutative(&x), thence::in(&y)}, [&] { EXPECT_EQ(ran, 100); });
    for (int i = 0; i < 100; ++i) {
        flow.submit({thence::commutative(&x)}, [&] {
            EXPECT_EQ(++inside, 1);
            ++x; // no atomic: they exclude each other
            --inside;
            ++ran;
        });
    }
    test::wait_until([&] { return ran == 100; });
    gate.release();
    flow.taskwait();
    EXPECT_EQ(x, 100);
}

TEST(dependences, tasks_with_several_commutative_accesses_do_not_deadlock) {
    int data[3] = {};
    thence::flow flow(test::two_workers());
    for (int i = 0; i < 3000; ++i) {
        int *const one = &data[i % 3];
        int *const other = &data[(i + 1 + i / 3 % 2) % 3];
        flow.submit({thence::commutative(one), thence::commutative(other)}, [=] {
            ++*one;
            ++*other;
        });
    }
    flow.taskwait();
    EXPECT_EQ(data[0] + data[1] + data[2], 6000);
}

TEST(dependences, a_task_may_name_the_same_data_twice) {
    int x = 0;
    thence::flow flow(test::two_workers());
    test::log order;
    held gate;
    flow.submit({thence::in(&x), thence::in(&x)}, [&] {
        gate.hold();
        order.add(1);
    });
    flow.submit({thence::in(&x), thence::out(&x), thence::in(&x)}, [&] { order.add(2); });
    flow.submit({thence::in(&x)}, [&] { order.add(3); });
    gate.release();
    flow.taskwait();
    EXPECT_EQ(order.all(), (std::vector{1, 2, 3}));
}

TEST(dependences, accesses_can_be_a_list_of_any_length) {
    std::vector<int> data(1000);
    std::vector<access> all;
    for (int &each : data) {
        all.push_back(thence::in(&each));
    }
    thence::flow flow(test::two_workers());
    for (int &each : data) {
        flow.submit({thence::out(&each)}, [&] { each = 1; });
    }
    int sum = 0;
    flow.submit(all, [&] {
        for (const int each : data) {
            sum += each;
        }
    });
    flow.taskwait();
    EXPECT_EQ(sum, 1000);
}

TEST(dependences, children_depend_on_siblings_only) {
    int x = 0;
    thence::flow flow(test::two_workers());
    held gate;
    std::atomic<bool> child_ran{false};
    flow.submit({thence::out(&x)}, [&] { gate.hold(); });
    flow.submit({}, [&] { flow.submit({thence::out(&x)}, [&] { child_ran = true; }); });
    test::wait_until([&] { return child_ran.load(); });
    gate.release();
    flow.taskwait();
}

TEST(dependences, a_task_is_complete_after_its_children) {
    int x = 0;
    thence::flow flow(test::two_workers());
    test::log order;
    held gate;
    flow.submit({thence::out(&x)}, [&] {
        flow.submit({}, [&] {
            flow.submit({}, [&] { // a grandchild
                gate.hold();
                order.add(1);
            });
        });
    });
    flow.submit({thence::in(&x)}, [&] { order.add(2); });
    gate.release();
    flow.taskwait();
    EXPECT_EQ(order.all(), (std::vector{1, 2}));
}

TEST(dependences, the_higher_priority_goes_first) {
    thence::flow flow({.workers = 1});
    test::log order;
    std::atomic<bool> busy{false};
    std::atomic<bool> go{false};
    flow.submit({}, [&] { // keeps the worker
        busy = true;
        while (!go) {
            std::this_thread::yield();
        }
    });
    test::wait_until([&] { return busy.load(); });
    const std::vector priorities{0, 5, -3, 7, 5, 0};
    for (std::size_t i = 0; i < priorities.size(); ++i) {
        flow.submit({}, {.priority = priorities[i]}, [&order, i] { order.add(static_cast<int>(i)); });
    }
    go = true;
    // This thread does not work for the flow, which would disturb the order.
    test::wait_until([&] { return order.all().size() == 6; });
    EXPECT_EQ(order.all(), (std::vector{3, 1, 4, 0, 5, 2})); // those of equal priority as they came
}

TEST(dependences, a_successor_does_not_pass_a_task_of_higher_priority) {
    int x = 0;
    thence::flow flow({.workers = 1});
    test::log order;
    std::atomic<bool> busy{false};
    std::atomic<bool> go{false};
    flow.submit({thence::out(&x)}, [&] {
        busy = true;
        while (!go) {
            std::this_thread::yield();
        }
    });
    test::wait_until([&] { return busy.load(); });
    flow.submit({thence::in(&x)}, [&] { order.add(0); });
    flow.submit({}, {.priority = 1}, [&] { order.add(1); });
    go = true;
    test::wait_until([&] { return order.all().size() == 2; });
    EXPECT_EQ(order.all(), (std::vector{1, 0}));
}

TEST(waiting, taskwait_waits_for_children_of_the_caller) {
    thence::flow flow(test::two_workers());
    std::atomic<int> done{0};
    flow.submit({}, [&] {
        for (int i = 0; i < 10; ++i) {
            flow.submit({}, [&] { ++done; });
        }
        flow.taskwait();
        EXPECT_EQ(done, 10);
        done = 100;
    });
    flow.taskwait();
    EXPECT_EQ(done, 100);
}

TEST(waiting, taskwait_in_a_task_does_not_wait_for_others) {
    thence::flow flow(test::two_workers());
    held gate;
    std::atomic<bool> waited{false};
    flow.submit({}, [&] { gate.hold(); });
    flow.submit({}, [&] {
        flow.submit({}, [] {});
        flow.taskwait();
        waited = true;
    });
    test::wait_until([&] { return waited.load(); });
    gate.release();
    flow.taskwait();
}

TEST(waiting, taskwait_on_accesses_waits_for_these_alone) {
    int x = 0;
    int y = 0;
    thence::flow flow(test::two_workers());
    held gate;
    flow.submit({thence::out(&x)}, [&] { gate.hold(); });
    flow.submit({thence::out(&y)}, [&] { y = 1; });
    flow.taskwait({thence::in(&y)});
    EXPECT_EQ(y, 1);
    std::thread releases([&] { gate.release(); });
    flow.taskwait({thence::in(&x), thence::in(&y)});
    EXPECT_FALSE(gate.holds());
    releases.join();
    flow.taskwait();
}

TEST(waiting, several_threads_submit_and_wait) {
    thence::flow flow(test::two_workers());
    long data[4] = {};
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([&, t] {
            for (int round = 0; round < 50; ++round) {
                for (int i = 0; i < 20; ++i) {
                    flow.submit({thence::inout(&data[(t + i) % 4]), thence::inout(&data[i % 4])},
                                [&, t, i] { ++data[(t + i) % 4]; });
                }
                flow.taskwait();
            }
        });
    }
    for (std::thread &each : threads) {
        each.join();
    }
    EXPECT_EQ(data[0] + data[1] + data[2] + data[3], 4 * 50 * 20);
}

TEST(waiting, tasks_of_two_flows_wait_for_each_other) {
    thence::flow one(test::two_workers());
    thence::flow other(test::two_workers());
    int x = 0;
    one.submit({}, [&] {
        other.submit({thence::out(&x)}, [&] { x = 5; });
        other.taskwait();
        EXPECT_EQ(x, 5);
        x = 6;
    });
    one.taskwait();
    EXPECT_EQ(x, 6);
}

TEST(waiting, flows_are_made_and_destroyed_with_tasks_that_run) {
    std::atomic<int> ran{0};
    for (int i = 0; i < 200; ++i) {
        thence::flow flow(test::two_workers());
        int x = 0;
        for (int j = 0; j < 5; ++j) {
            flow.submit({thence::inout(&x)}, [&] { ++ran; });
        }
    }
    EXPECT_EQ(ran, 1000);
}

TEST(waiting, the_number_of_workers_is_checked) {
    EXPECT_THROW(thence::flow({.workers = -1}), std::invalid_argument);
    EXPECT_EQ(thence::flow({.workers = 3}).workers(), 3);
    EXPECT_GE(thence::flow::process_default().workers(), 1);
}

} // namespace
