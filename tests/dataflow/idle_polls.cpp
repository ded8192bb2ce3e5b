// SPDX-License-Identifier: BSD-3-Clause
// What idle workers poll may last: tasks that are ready run meanwhile on other workers.
#include "support.hpp"

#include <thence/dataflow.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <deque>
#include <functional>

namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

// As test::wait_until(), but gives up, so that the poll returns and the test can fail.
template <class Condition> bool holds_soon(Condition &&holds) {
    const auto end = clock::now() + 20s;
    while (!holds()) {
        if (clock::now() > end) {
            return false;
        }
        std::this_thread::yield();
    }
    return true;
}

// A test declares its flow last, so that no worker polls any more when the rest is destroyed.
class idle_polls : public testing::Test {
protected:
    ~idle_polls() override { thence_flow_on_idle(nullptr); }
    // All idle workers call `poll`, which no worker does yet.
    static void poll(std::function<int()> poll) {
        poll_ = std::move(poll);
        thence_flow_on_idle([] { return poll_(); });
    }

private:
    static inline std::function<int()> poll_;
};

TEST_F(idle_polls, a_task_runs_that_a_poll_makes_ready_and_waits_for) {
    int x = 0;
    test::held gate;
    std::atomic<bool> ran{false}, polled{false}, in_time{false};
    poll([&] {
        if (gate.holds() && !polled.exchange(true)) {
            gate.release();
            in_time = holds_soon([&] { return ran.load(); });
        }
        return 1;
    });
    thence::flow flow(test::two_workers());
    flow.submit({thence::inout(&x)}, [&] { gate.hold(); });
    flow.submit({thence::inout(&x)}, [&] { ran = true; });
    EXPECT_TRUE(holds_soon([&] { return ran && in_time; }));
}

TEST_F(idle_polls, tasks_run_that_other_threads_submit_while_a_poll_waits_for_them) {
    constexpr int workers = 4;
    std::atomic<int> running{0};
    std::atomic<bool> polls{false}, in_time{false};
    const auto all_run = [&] { return running == workers - 1; };
    poll([&] {
        if (!polls.exchange(true)) {
            in_time = holds_soon(all_run);
        }
        return 1;
    });
    thence::flow flow({.workers = workers});
    flow.submit({}, [] {});
    test::wait_until([&] { return polls.load(); });
    for (int i = 0; i < workers - 1; ++i) {
        flow.submit({}, [&] {
            ++running;
            holds_soon(all_run);
        });
    }
    EXPECT_TRUE(holds_soon([&] { return in_time.load(); }));
}

// Of two tasks it is known at once that another worker must run one of them. By the watchdog it would take at least 2
// ms, in almost all rounds.
TEST_F(idle_polls, of_two_tasks_one_runs_at_once) {
    constexpr int rounds = 300, enough = 20;
    int x = 0;
    std::atomic<int> at_once{0};
    test::held gate;
    std::atomic<int> ran{0}, polled{0};
    poll([&] {
        const auto begun = clock::now();
        if (gate.try_release()) {
            EXPECT_TRUE(holds_soon([&] { return ran != 0; }));
            at_once += clock::now() - begun < 2ms ? 1 : 0;
            ++polled;
        }
        return 1;
    });
    thence::flow flow(test::two_workers());
    for (int round = 0; round < rounds && at_once < enough; ++round) {
        flow.taskwait();
        std::this_thread::sleep_for(2ms); // all workers sleep then
        ran = 0;
        flow.submit({thence::inout(&x)}, [&] { gate.hold(); });
        flow.submit({thence::in(&x)}, [&] { ++ran; });
        flow.submit({thence::in(&x)}, [&] { ++ran; });
        // The next round changes what the poll looks at.
        test::wait_until([&] { return ran == 2 && polled == round + 1; });
    }
    EXPECT_EQ(at_once, enough);
}

// Where no other thread waits for a processor, a worker polls longer than it would sleep. On a loaded machine it may
// lose its processor, and leave, so this is tried often.
TEST_F(idle_polls, last_while_the_poll_allows_it) {
    std::atomic<clock::duration> longest{0ms};
    std::atomic<clock::time_point> begun{};
    poll([&] {
        longest = std::max(longest.load(), clock::now() - begun.load());
        return 2;
    });
    thence::flow flow({.workers = 1});
    for (int round = 0; round < 500 && longest.load() < 2ms; ++round) {
        longest = 0ms;
        flow.submit({}, [&] { begun = clock::now(); });
        std::this_thread::sleep_for(10ms);
        flow.taskwait();
    }
    EXPECT_GE(longest.load(), 2ms);
}

// Each task that is held back is released in a poll, and now and then the poll waits until the task after it has run.
TEST_F(idle_polls, stress_of_polls_that_wait_for_tasks) {
    constexpr int rounds = 60, pairs = 16;
    struct pair {
        int x = 0;
        test::held gate;
        std::atomic<bool> ran{false};
    };
    std::mutex mutex;
    std::deque<pair *> held;
    std::atomic<unsigned> taken{0};
    std::atomic<bool> one_waits{false};
    std::atomic<int> late{0};
    poll([&] {
        pair *next = nullptr;
        {
            const std::scoped_lock guard(mutex);
            if (held.empty()) {
                return 1;
            }
            next = held.front();
            held.pop_front();
        }
        const bool waits = ++taken % 7 == 0 && !one_waits.exchange(true);
        next->gate.release();
        if (waits) {
            if (!holds_soon([&] { return next->ran.load(); })) {
                ++late;
            }
            one_waits = false;
        }
        return 1;
    });
    thence::flow flow({.workers = 3});
    for (int round = 0; round < rounds; ++round) {
        std::array<pair, pairs> all;
        for (pair &one : all) {
            flow.submit({thence::inout(&one.x)}, [&] {
                one.gate.hold();
                const std::scoped_lock guard(mutex);
                held.push_back(&one);
            });
            flow.submit({thence::inout(&one.x)}, [&] { one.ran = true; });
            if (round % 3 == 0) {
                flow.submit({}, [] { std::this_thread::yield(); });
            }
        }
        while (std::any_of(all.begin(), all.end(), [](const pair &one) { return !one.ran; })) {
            flow.submit({}, [] {}); // workers poll for 200 us after the last task
            std::this_thread::sleep_for(400us);
        }
        flow.taskwait();
        test::wait_until([&] { return !one_waits; });
    }
    EXPECT_EQ(late, 0);
}

} // namespace
