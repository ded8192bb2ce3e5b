// SPDX-License-Identifier: BSD-3-Clause
// The poll of a worker between two tasks: when it is called, and that no task waits for one that lasts.
#include "support.hpp"

#include <thence/dataflow.h>

#include <chrono>
#include <functional>

namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

void compute_for(clock::duration time) {
    for (const auto end = clock::now() + time; clock::now() < end;) {
    }
}

// A test declares its flow last, so that no worker polls any more when the rest is destroyed.
class between_tasks : public testing::Test {
protected:
    ~between_tasks() override { thence_flow_between_tasks(nullptr); }
    static void poll(std::function<void()> poll) {
        poll_ = std::move(poll);
        thence_flow_between_tasks([] {
            poll_();
            return 1;
        });
    }

private:
    static inline std::function<void()> poll_;
};

TEST_F(between_tasks, a_worker_polls_after_each_that_takes_long) {
    constexpr int tasks = 50;
    std::atomic<int> polls{0};
    poll([&] { ++polls; });
    thence::flow flow({.workers = 1});
    for (const bool chained : {false, true}) {
        polls = 0;
        int x = 0;
        for (int i = 0; i < tasks; ++i) {
            flow.submit(chained ? std::vector<thence::access>{thence::inout(&x)} : std::vector<thence::access>{},
                        [] { compute_for(200us); });
        }
        flow.taskwait();
        EXPECT_GE(polls, tasks - 8) << "chained: " << chained; // it looks at the clock rarely while tasks are short
        EXPECT_LE(polls, tasks);
    }
}

TEST_F(between_tasks, many_short_ones_are_polled_once_in_a_while) {
    constexpr int tasks = 20000;
    std::atomic<int> polls{0};
    poll([&] { ++polls; });
    thence::flow flow({.workers = 1});
    const auto begun = clock::now();
    for (int i = 0; i < tasks; ++i) {
        flow.submit({}, [] {});
    }
    flow.taskwait();
    EXPECT_GT(polls, 0);
    EXPECT_LE(polls, 2 * ((clock::now() - begun) / 20us) + 1) << "this thread runs tasks, too";
}

// The second of a chain follows the first on the same worker, and is held meanwhile.
TEST_F(between_tasks, a_task_that_is_held_runs_elsewhere_while_a_poll_waits_for_it) {
    std::atomic<bool> first_ran{false}, second_ran{false}, waits{false}, in_time{true};
    std::atomic<int> waited{0};
    poll([&] {
        if (first_ran && !second_ran && !waits.exchange(true)) {
            const auto end = clock::now() + 20s;
            while (!second_ran && clock::now() < end) {
                std::this_thread::yield();
            }
            in_time = second_ran.load();
            waits = false;
            ++waited;
        }
    });
    thence::flow flow(test::two_workers());
    int x = 0;
    for (int round = 0; round < 100 && in_time; ++round) {
        test::wait_until([&] { return !waits; }); // it looks at the others
        first_ran = second_ran = false;
        flow.submit({thence::inout(&x)}, [&] {
            compute_for(100us);
            first_ran = true;
        });
        flow.submit({thence::inout(&x)}, [&] { second_ran = true; });
        flow.taskwait();
    }
    EXPECT_TRUE(in_time);
    test::wait_until([&] { return !waits; });
    EXPECT_GT(waited, 0);
}

// Nothing runs then but this poll, and what is open waits for it.
TEST_F(between_tasks, a_poll_may_submit_more_than_may_be_open_while_it_holds_a_task) {
    constexpr unsigned most_open = 4;
    std::array<test::held, 2 * most_open> gates;
    std::atomic<bool> begun{false}, submitted{false}, second_ran{false};
    thence::flow *flow = nullptr;
    poll([&] {
        if (!begun || submitted.exchange(true)) {
            return;
        }
        for (test::held &gate : gates) {
            flow->submit({}, [&] { gate.hold(); });
        }
        for (test::held &gate : gates) {
            gate.release();
        }
    });
    thence::flow limited({.workers = 1, .most_open = most_open});
    flow = &limited;
    int x = 0;
    limited.submit({thence::inout(&x)}, [&] {
        compute_for(100us);
        begun = true;
    });
    limited.submit({thence::inout(&x)}, [&] { second_ran = true; });
    limited.taskwait();
    EXPECT_TRUE(submitted);
    EXPECT_TRUE(second_ran);
}

TEST_F(between_tasks, tasks_of_both_kinds_end_while_polls_release_them) {
    constexpr int chains = 8, length = 200;
    std::mutex mutex;
    std::vector<test::held *> held;
    poll([&] {
        test::held *released = nullptr;
        {
            const std::scoped_lock guard(mutex);
            if (!held.empty()) {
                released = held.back();
                held.pop_back();
            }
        }
        if (released != nullptr) {
            released->release();
        }
    });
    std::vector<std::array<test::held, length>> gates(chains);
    std::array<int, chains> chain{};
    std::array<std::atomic<int>, chains> ran{};
    thence::flow flow(test::two_workers());
    for (int i = 0; i < length; ++i) {
        for (int c = 0; c < chains; ++c) {
            flow.submit({thence::inout(&chain[static_cast<std::size_t>(c)])}, [&, i, c] {
                compute_for(std::chrono::microseconds(i % 7 * 5));
                ran[static_cast<std::size_t>(c)]++;
                if (i % 5 == 0) {
                    test::held &gate = gates[static_cast<std::size_t>(c)][static_cast<std::size_t>(i)];
                    gate.hold();
                    const std::scoped_lock guard(mutex);
                    held.push_back(&gate);
                }
            });
        }
    }
    std::atomic<bool> stop{false};
    std::function<void()> more = [&] { // a worker without tasks does not poll between them
        if (!stop) {
            compute_for(20us);
            flow.submit({}, [&] { more(); });
        }
    };
    flow.submit({}, [&] { more(); });
    test::wait_until([&] {
        const std::scoped_lock guard(mutex);
        return std::all_of(ran.begin(), ran.end(), [](const std::atomic<int> &n) { return n == length; }) &&
               held.empty();
    });
    stop = true;
    flow.taskwait();
}

} // namespace
