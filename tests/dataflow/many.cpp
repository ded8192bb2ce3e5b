// SPDX-License-Identifier: BSD-3-Clause
// A million tasks: neither stack nor memory grows without bound, and memory goes back.
#include "support.hpp"

#include <algorithm>
#include <chrono>

namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int many = 50'000;
#else
constexpr int many = 1'000'000;
#endif
// What the pool keeps, and caches of threads.
constexpr std::size_t kept = std::size_t{24} << 20;

std::size_t held_memory() {
    return thence::libthence_tasks::memory_held();
}

TEST(many, tasks_in_a_chain) {
    thence::flow flow(test::two_workers());
    long sum = 0;
    for (int i = 0; i < many; ++i) {
        flow.submit({thence::inout(&sum)}, [&] { ++sum; });
    }
    flow.taskwait();
    EXPECT_EQ(sum, many);
    EXPECT_LT(held_memory(), kept);
}

// All at once become ready, or complete, while one thread walks along: no recursion.
TEST(many, readers_between_two_writers) {
    thence::flow flow(test::two_workers());
    int x = 0;
    std::atomic<long> sum{0};
    test::held gate;
    flow.submit({thence::out(&x)}, [&] { gate.hold(); });
    test::wait_until([&] { return gate.holds(); });
    for (int i = 0; i < many; ++i) {
        flow.submit({thence::in(&x)}, [&] { sum.fetch_add(1, std::memory_order_relaxed); });
    }
    flow.submit({thence::out(&x)}, [&] { EXPECT_EQ(sum, many); });
    gate.release();
    flow.taskwait();
    EXPECT_EQ(sum, many);
    EXPECT_LT(held_memory(), kept);
}

// The last reader in the chain completes first, so completion goes along the whole chain when the first one does.
TEST(many, readers_that_complete_before_the_first_one) {
    thence::flow flow(test::two_workers());
    int x = 0;
    std::atomic<long> sum{0};
    test::held gate;
    flow.submit({thence::in(&x)}, [&] { gate.hold(); });
    for (int i = 0; i < many; ++i) {
        flow.submit({thence::in(&x)}, [&] { sum.fetch_add(1, std::memory_order_relaxed); });
    }
    test::wait_until([&] { return sum == many; });
    flow.submit({thence::out(&x)}, [&] { sum = -1; });
    gate.release();
    flow.taskwait();
    EXPECT_EQ(sum, -1);
    EXPECT_LT(held_memory(), kept);
}

// One after the other, whichever of those that wait. Each completion looks at the next one only.
TEST(many, commutative_tasks_that_wait_for_one) {
    thence::flow flow(test::two_workers());
    long sum = 0;
    test::held gate;
    flow.submit({thence::commutative(&sum)}, [&] { gate.hold(); });
    test::wait_until([&] { return gate.holds(); });
    for (int i = 0; i < many / 4; ++i) {
        flow.submit({thence::commutative(&sum)}, [&] { ++sum; });
    }
    gate.release();
    flow.taskwait();
    EXPECT_EQ(sum, many / 4);
    EXPECT_LT(held_memory(), kept);
}

TEST(many, priorities_of_their_own) {
    thence::flow flow({.workers = 1, .most_open = thence::flow_options::no_limit});
    int x = 0;
    std::atomic<long> sum{0};
    test::held gate;
    flow.submit({thence::out(&x)}, [&] { gate.hold(); });
    for (int i = 0; i < many / 2; ++i) {
        flow.submit({thence::in(&x)}, {.priority = i % 2 == 0 ? i : -i}, [&] { ++sum; });
    }
    gate.release();
    flow.taskwait();
    EXPECT_EQ(sum, many / 2);
}

TEST(many, data_of_their_own) {
    thence::flow flow(test::two_workers());
    std::vector<char> data(many);
    for (int i = 0; i < many; ++i) {
        flow.submit({thence::out(&data[i])}, [&, i] { data[i] = 1; });
    }
    flow.taskwait();
    for (const char each : data) {
        ASSERT_EQ(each, 1);
    }
    EXPECT_LT(held_memory(), kept);
}

TEST(many, generations_of_one_child_each) {
    constexpr int deep = many / 10;
    thence::flow flow(test::two_workers());
    std::atomic<int> count{0};
    struct generation {
        thence::flow &flow;
        std::atomic<int> &count;
        void operator()() const {
            if (++count < deep) {
                flow.submit({}, generation{flow, count});
            }
        }
    };
    flow.submit({}, generation{flow, count});
    flow.taskwait(); // all complete one after the other, from the last one on
    EXPECT_EQ(count, deep);
    EXPECT_LT(held_memory(), kept);
}

// Each task waits for its children. Were those of one depth all begun before any deeper one, tens of thousands of
// stacks would be suspended at once, which the system does not allow.
TEST(many, recursive_tasks_that_wait) {
    thence::flow flow(test::two_workers());
    struct fibonacci {
        thence::flow &flow;
        int n;
        int *to;
        void operator()() const {
            int one = n;
            int other = 0;
            if (n > 1) {
                flow.submit({thence::out(&one)}, fibonacci{flow, n - 1, &one});
                flow.submit({thence::out(&other)}, fibonacci{flow, n - 2, &other});
                flow.taskwait();
            }
            *to = one + other;
        }
    };
    int result = 0;
    constexpr int n = many > 100'000 ? 23 : 12;
    flow.submit({thence::out(&result)}, fibonacci{flow, n, &result});
    flow.taskwait();
    EXPECT_EQ(result, n == 23 ? 28657 : 144);
}

TEST(many, waves_do_not_grow) {
    thence::flow flow(test::two_workers());
    int data[64] = {};
    std::size_t after_first = 0;
    for (int wave = 0; wave < 50; ++wave) {
        for (int i = 0; i < many / 50; ++i) {
            flow.submit({thence::inout(&data[i % 64]), thence::in(&data[(i + 1) % 64])}, [&, i] { ++data[i % 64]; });
        }
        flow.taskwait();
        if (wave == 0) {
            after_first = held_memory();
        }
    }
    EXPECT_LT(held_memory(), after_first + kept);
}

TEST(many, large_bodies_and_many_accesses) {
    thence::flow flow(test::two_workers());
    std::vector<int> data(500);
    struct large {
        int *to;
        char bytes[6000];
        void operator()() const { *to += bytes[17]; }
    };
    for (std::size_t count = 1; count < data.size(); count += 7) {
        std::vector<thence::access> all;
        for (std::size_t i = 0; i < count; ++i) {
            all.push_back(thence::inout(&data[i]));
        }
        large body{&data[0], {}};
        body.bytes[17] = 1;
        flow.submit(all, body);
    }
    flow.taskwait();
    EXPECT_EQ(data[0], 72);
}

TEST(limits, submit_waits_while_many_tasks_are_not_complete) {
    thence::flow flow({.workers = 2, .most_open = 100});
    std::atomic<int> done{0};
    for (int i = 0; i < 10'000; ++i) {
        flow.submit({}, [&] { ++done; });
        ASSERT_LE(i + 1 - done, 101);
    }
    flow.submit({}, [&] { // in a task, too
        std::atomic<int> children{0};
        for (int i = 0; i < 10'000; ++i) {
            flow.submit({}, [&] { ++children; });
            ASSERT_LE(i + 1 - children, 101);
        }
        flow.taskwait();
    });
    flow.taskwait();
}

TEST(limits, submit_does_not_wait_for_tasks_that_wait) {
    thence::flow flow({.workers = 2, .most_open = 4});
    std::vector<test::held> gates(50);
    std::atomic<thence::detail::dataflow_task *> blocked{nullptr};
    for (test::held &each : gates) {
        flow.submit({}, [&] { each.hold(); });
    }
    flow.submit({}, [&] {
        blocked = static_cast<thence::detail::dataflow_task *>(thence::current_task().native());
        thence::block_current();
    });
    flow.submit({}, [] {});
    test::wait_until([&] { return blocked != nullptr; });
    thence::unblock(thence::task_ref(blocked));
    for (test::held &each : gates) {
        each.release();
    }
    flow.taskwait();
}

TEST(limits, several_threads_submit_more_than_the_limit) {
    thence::flow flow({.workers = 2, .most_open = 8});
    std::atomic<int> done{0};
    long data[3] = {};
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t) {
        threads.emplace_back([&, t] {
            for (int i = 0; i < 2000; ++i) {
                flow.submit({thence::inout(&data[t]), thence::in(&data[(t + 1) % 3])}, [&] { ++done; });
            }
            flow.taskwait();
        });
    }
    for (std::thread &each : threads) {
        each.join();
    }
    EXPECT_EQ(done, 6000);
}

// In the arena 8 threads may wait. A worker suspends for each further one.
TEST(limits, submit_goes_on_while_more_threads_wait_than_the_arena_takes) {
    thence::flow flow({.workers = 1});
    std::atomic<int> waiting{0};
    test::held gate;
    flow.submit({}, [&] { gate.hold(); });
    std::vector<std::thread> threads;
    for (int t = 0; t < 12; ++t) {
        threads.emplace_back([&] {
            ++waiting;
            flow.taskwait();
        });
    }
    test::wait_until([&] { return waiting == 12; });
    std::this_thread::sleep_for(
        std::chrono::milliseconds(50)); // so that they wait; the test also passes if they do not
    int x = 0;
    test::held first;
    flow.submit({thence::out(&x)}, [&] { first.hold(); });
    for (int i = 0; i < 3000; ++i) { // more than may be open
        flow.submit({thence::inout(&x)}, [] {});
    }
    first.release();
    gate.release();
    for (std::thread &each : threads) {
        each.join();
    }
    flow.taskwait();
}

// Tasks that submit, block, sleep and raise events, from several threads.
TEST(many, everything_at_once) {
    thence::flow flow(test::two_workers());
    std::atomic<long> done{0};
    long data[8] = {};
    std::vector<std::thread> threads;
    constexpr int rounds = many / 2000;
    for (int t = 0; t < 3; ++t) {
        threads.emplace_back([&, t] {
            for (int i = 0; i < rounds; ++i) {
                flow.submit({thence::inout(&data[(i + t) % 8]), thence::commutative(&data[i % 3])}, [&, i] {
                    const thence::task_ref self = thence::current_task();
                    if (i % 5 == 0) {
                        thence::raise_events(self);
                        flow.submit({}, [self] { thence::lower_events(self); });
                    }
                    if (i % 7 == 0) {
                        flow.submit({}, [self] { thence::unblock(self); });
                        thence::block_current();
                    }
                    if (i % 11 == 0) {
                        thence::wait_for(i % 2 == 0 ? 0 : 20);
                    }
                    if (i % 13 == 0) {
                        flow.taskwait();
                    }
                    ++done;
                });
                if (i % 50 == 0) {
                    flow.taskwait();
                }
            }
        });
    }
    for (std::thread &each : threads) {
        each.join();
    }
    flow.taskwait();
    EXPECT_EQ(done, 3 * rounds);
}

// A thread of oneTBB stays in the arena in which its first stack is suspended. After oneTBB has found that nothing is
// to be done there, it counts that thread as free, and sends none to another flow. Nobody waits there who would run the
// task.
void expect_that_another_flow_runs() {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    std::atomic<bool> ran{false};
    thence::flow other({.workers = 1});
    other.submit({}, [&] {
        thence::wait_for(10'000); // its stack needs a thread once more
        ran = true;
    });
    test::wait_until([&] { return ran.load(); });
}

TEST(many, suspended_tasks_of_one_flow_keep_no_worker_from_another) {
    const int workers = std::max(1, static_cast<int>(std::thread::hardware_concurrency()) - 1);
    thence::flow blocked({.workers = workers});
    std::vector<thence::task_ref> tasks(static_cast<std::size_t>(workers));
    std::atomic<int> begun{0};
    for (thence::task_ref &each : tasks) {
        blocked.submit({}, [&] {
            each = thence::current_task();
            ++begun;
            test::wait_until([&] { return begun == workers; });
            thence::block_current();
        });
    }
    test::wait_until([&] { return begun == workers; });
    expect_that_another_flow_runs();
    for (const thence::task_ref each : tasks) {
        thence::unblock(each);
    }
    blocked.taskwait();
}

// Runs six tasks in a flow with one worker. The stacks of some are resumed while another task runs. @return how many
// tasks ran at a time.
int most_at_a_time() {
    thence::flow busy({.workers = 1});
    std::atomic<int> at_once{0}, most{0}, done{0};
    for (int i = 0; i < 6; ++i) {
        busy.submit({}, [&, i] {
            if (i % 3 == 0) {
                thence::wait_for(1'000);
            }
            most = std::max(most.load(), ++at_once);
            std::this_thread::sleep_for(std::chrono::milliseconds(12)); // several inspections
            --at_once;
            ++done;
        });
    }
    test::wait_until([&] { return done == 6; });
    return most;
}

// Where other processes keep the worker from its processor for 4 ms, a second thread runs a task. So single runs may
// have two threads, and with the fault every second one has.
TEST(many, a_flow_has_no_more_threads_than_workers_while_tasks_of_another_are_suspended) {
    thence::flow blocked({.workers = 1});
    thence::task_ref task;
    std::atomic<bool> begun{false};
    blocked.submit({}, [&] {
        task = thence::current_task();
        begun = true;
        thence::block_current();
    });
    test::wait_until([&] { return begun.load(); });
    int good_in_a_row = 0;
    int runs = 0;
    for (; runs < 200 && good_in_a_row < 10; ++runs) {
        good_in_a_row = most_at_a_time() == 1 ? good_in_a_row + 1 : 0;
    }
    EXPECT_EQ(good_in_a_row, 10) << "after " << runs << " runs";
    thence::unblock(task);
    blocked.taskwait();
}

TEST(many, threads_that_wait_for_one_flow_keep_no_worker_from_another) {
    thence::flow blocked({.workers = 1});
    thence::task_ref task;
    std::atomic<bool> begun{false}, all_wait{false};
    blocked.submit({}, [&] {
        task = thence::current_task();
        begun = true;
        test::wait_until([&] { return all_wait.load(); });
        thence::block_current();
    });
    test::wait_until([&] { return begun.load(); });
    std::vector<std::thread> threads(12); // more than the arena takes: a worker waits in place of some
    for (std::thread &each : threads) {
        each = std::thread([&] { blocked.taskwait(); });
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    all_wait = true;
    expect_that_another_flow_runs();
    thence::unblock(task);
    for (std::thread &each : threads) {
        each.join();
    }
}

} // namespace
