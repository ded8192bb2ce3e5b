// SPDX-License-Identifier: BSD-3-Clause
// The pauses of a thread that polls: their order and bounds. How long a thread really pauses depends on the machine, so
// the tests shift the times in the state instead of waiting.
#include "core/base/clock.hpp"
#include "core/base/processors.hpp"

#include <gtest/gtest.h>
#include <thence/backoff.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <sys/prctl.h>
#include <thread>
#include <vector>

namespace {

constexpr std::int64_t second = 1'000'000'000;

// As if `time` nanoseconds more had passed since the thread began to spin.
void pass(thence_backoff &b, std::int64_t time) {
    b.since -= time;
}

// The other threads of the machine are played.
class backoff : public testing::Test {
protected:
    backoff() {
        thence::base::scripted_processors = []() noexcept { return taken; };
    }
    ~backoff() override {
        thence::base::scripted_processors = nullptr;
        taken = false;
    }
    static inline bool taken = false; // all processors
};

// As if another thread had run on this processor, for `time` nanoseconds, when the last pause should have ended.
void lose_processor(thence_backoff &b, std::int64_t time) {
    b.since -= time;
    b.due -= time;
}

// As if `time` nanoseconds more had passed since another thread was seen.
void pass_after_sharing(thence_backoff &b, std::int64_t time) {
    b.shared -= time;
}

constexpr std::int64_t ms = 1'000'000;

// Polls until the state says to sleep. Returns the length of that sleep.
std::int64_t until_sleep(thence_backoff &b) {
    for (;;) {
        pass(b, 10'000);
        if (const std::int64_t time = thence_backoff_next(&b); time > 0) {
            return time;
        }
    }
}

TEST_F(backoff, spins_then_sleeps) {
    thence_backoff b = THENCE_BACKOFF_INIT;
    b.spins = 3;
    for (int i = 0; i < 3; ++i) {
        EXPECT_LT(thence_backoff_next(&b), 0);
    }
    EXPECT_EQ(thence_backoff_next(&b), 0);
    const std::int64_t first = until_sleep(b);
    EXPECT_GE(first, 3000);
    pass(b, second);
    EXPECT_EQ(thence_backoff_next(&b), b.longest);
}

TEST_F(backoff, a_sleep_is_an_eighth_of_the_time_waited) {
    thence_backoff b = THENCE_BACKOFF_INIT;
    b.longest = 10 * second;
    until_sleep(b);
    pass(b, 8 * second);
    const std::int64_t time = thence_backoff_next(&b);
    EXPECT_GE(time, second);
    EXPECT_LT(time, 9 * second); // this test may have been stopped for a while
}

TEST_F(backoff, no_sleep_is_longer_than_the_bound) {
    thence_backoff b = THENCE_BACKOFF_INIT;
    b.longest = 4000;
    until_sleep(b);
    pass(b, second);
    EXPECT_EQ(thence_backoff_next(&b), 4000);
    b.longest = 0; // too small
    EXPECT_EQ(thence_backoff_next(&b), 3000);
}

TEST_F(backoff, begins_again_when_something_was_found) {
    thence_backoff b = THENCE_BACKOFF_INIT;
    b.spins = 1;
    until_sleep(b);
    thence_backoff_found(&b);
    EXPECT_LT(thence_backoff_next(&b), 0);
    EXPECT_EQ(thence_backoff_next(&b), 0);
}

TEST_F(backoff, pauses_briefly_before_it_sleeps_also_if_it_is_to_spin_less_than_it_has) {
    thence_backoff b = THENCE_BACKOFF_INIT;
    b.spins = 100;
    for (int i = 0; i < 50; ++i) {
        thence_backoff_next(&b);
    }
    b.spins = 16;
    EXPECT_EQ(thence_backoff_next(&b), 0);
    for (int i = 0; i < 50; ++i) {
        thence_backoff_found(&b);
        b.spins = 100;
        for (int spin = 0; spin < 50; ++spin) {
            thence_backoff_next(&b);
        }
        b.spins = 16;
    }
    thence_backoff_found(&b);
    EXPECT_LT(b.usual, 1'000'000); // what it learns is no time since the machine was started
}

TEST_F(backoff, a_thread_that_waited_for_its_processor_sleeps_at_once_and_longer) {
    thence_backoff b = THENCE_BACKOFF_INIT;
    EXPECT_EQ(thence_backoff_next(&b), 0);
    EXPECT_EQ(b.shared, 0);
    lose_processor(b, 4 * ms);
    EXPECT_GE(thence_backoff_next(&b), 20'000);
    EXPECT_GT(b.shared, 0);
    thence_backoff_found(&b);
    b.usual = 0;
    thence_backoff_next(&b);
    pass(b, 11'000); // it spins less
    EXPECT_GE(thence_backoff_next(&b), 20'000) << "the other thread is still there";
    b.longest = 15'000;
    EXPECT_EQ(thence_backoff_next(&b), 15'000);
}

TEST_F(backoff, a_sleep_that_ends_late_says_that_the_processor_is_shared) {
    thence_backoff b = THENCE_BACKOFF_INIT;
    until_sleep(b);
    b.shared = 0; // as if this test had not been interrupted
    lose_processor(b, 4 * ms);
    EXPECT_GE(thence_backoff_next(&b), 20'000);
    EXPECT_GT(b.shared, 0);
}

// Pauses so often that one pause in it is measured.
void measure_a_sleep(thence_backoff &b) {
    until_sleep(b);
    for (int i = 0; i < 17; ++i) {
        thence_backoff_pause(&b);
    }
    b.since = b.due; // as if it had just begun to sleep
}

// It costs some processor time, and its thread displaces one that computes.
TEST_F(backoff, sleeps_for_several_times_what_that_costs_where_all_processors_are_taken) {
    taken = true;
    thence_backoff b = THENCE_BACKOFF_INIT;
    measure_a_sleep(b);
    const std::int64_t beside_others = until_sleep(b);
    taken = false;
    thence_backoff_found(&b);
    b.usual = 0, b.longest = 1000;
    EXPECT_GT(beside_others, until_sleep(b));
    EXPECT_LE(beside_others, 100'000);
}

// 32 threads that each sleep for 100 us keep two processors busy with nothing else.
TEST_F(backoff, where_all_processors_are_taken_many_threads_that_sleep_use_no_more_than_one_for_each_processor) {
    taken = true;
    thence_backoff b = THENCE_BACKOFF_INIT;
    measure_a_sleep(b);
    const std::int64_t alone = until_sleep(b);
    std::atomic<bool> stop{false};
    std::vector<std::jthread> sleepers;
    constexpr long for_each_processor = 4;
    for (long i = 0; i < for_each_processor * thence::base::processors(); ++i) {
        sleepers.emplace_back([&stop] {
            thence_backoff own = THENCE_BACKOFF_INIT;
            own.longest = 200 * ms;
            until_sleep(own);
            pass(own, 10 * second);
            while (!stop) {
                thence_backoff_pause(&own);
            }
        });
    }
    std::int64_t beside_sleepers = 0;
    for (const std::int64_t begun = thence::base::read_clock();
         beside_sleepers < for_each_processor * alone && thence::base::read_clock() - begun < 10 * second;) {
        b.since = b.due;
        beside_sleepers = until_sleep(b);
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    stop = true;
    EXPECT_GE(beside_sleepers, for_each_processor * alone);
}

TEST_F(backoff, spins_as_before_when_the_processor_has_not_been_shared_for_40_ms) {
    thence_backoff b = THENCE_BACKOFF_INIT;
    thence_backoff_next(&b);
    lose_processor(b, 4 * ms);
    thence_backoff_next(&b);
    pass_after_sharing(b, 40 * ms);
    bool spins = false;
    for (int tries = 0; tries < 100 && !spins; ++tries) { // this test may be interrupted for longer than it spins
        thence_backoff_found(&b);
        b.usual = 0;
        thence_backoff_next(&b);
        pass(b, 11'000);
        spins = thence_backoff_next(&b) == 0;
    }
    EXPECT_TRUE(spins);
}

TEST_F(backoff, stays_cautious_twice_as_long_when_the_processor_is_soon_shared_again) {
    thence_backoff b = THENCE_BACKOFF_INIT;
    thence_backoff_next(&b);
    std::uint32_t last = 0;
    for (const std::uint32_t expected : {40U, 80U, 160U, 320U, 320U}) {
        lose_processor(b, 4 * ms);
        EXPECT_GE(thence_backoff_next(&b), 20'000);
        EXPECT_EQ(b.shared_ms, expected);
        last = b.shared_ms;
        pass_after_sharing(b, last * ms);
        thence_backoff_found(&b);
        EXPECT_EQ(thence_backoff_next(&b), 0);
    }
    pass_after_sharing(b, 2 * last * ms);
    lose_processor(b, 4 * ms);
    thence_backoff_next(&b);
    EXPECT_EQ(b.shared_ms, 40U) << "that was long ago";
}

TEST_F(backoff, sleeps_a_little_longer_for_some_time_after_the_processor_was_shared) {
    thence_backoff b = THENCE_BACKOFF_INIT;
    thence_backoff_next(&b);
    lose_processor(b, 4 * ms);
    thence_backoff_next(&b);
    thence_backoff_found(&b);
    b.usual = 0;
    pass_after_sharing(b, 50 * ms);
    EXPECT_GE(until_sleep(b), 30'000);
    std::int64_t least = second;
    for (int tries = 0; tries < 100; ++tries) { // this test may be interrupted
        thence_backoff_found(&b);
        b.usual = 0;
        b.shared = 0;
        b.shared_ms = 0;
        least = std::min(least, until_sleep(b));
    }
    EXPECT_LT(least, 30'000);
}

TEST_F(backoff, learns_how_long_it_usually_waits) {
    thence_backoff b = THENCE_BACKOFF_INIT;
    for (int i = 0; i < 50; ++i) {
        thence_backoff_next(&b);
        pass(b, 10'000'000);
        thence_backoff_found(&b);
    }
    EXPECT_GT(b.usual, 5'000'000);
    thence_backoff_next(&b);
    b.since -= 2'000; // longer than it spins where it usually waits for 10 ms
    EXPECT_EQ(thence_backoff_next(&b), b.longest);
}

TEST_F(backoff, forgets_long_waits_when_it_finds_at_once) {
    thence_backoff b = THENCE_BACKOFF_INIT;
    b.spins = 1;
    thence_backoff_next(&b);
    thence_backoff_next(&b);
    pass(b, second);
    thence_backoff_found(&b);
    EXPECT_GT(b.usual, 0);
    for (int i = 0; i < 1000; ++i) {
        thence_backoff_found(&b);
    }
    EXPECT_EQ(b.usual, 0);
}

TEST_F(backoff, a_pause_leaves_the_timer_slack_as_it_was) {
    ASSERT_EQ(prctl(PR_SET_TIMERSLACK, 77'000UL), 0);
    thence_backoff b = THENCE_BACKOFF_INIT;
    until_sleep(b);
    thence_backoff_pause(&b);
    EXPECT_EQ(prctl(PR_GET_TIMERSLACK), 77'000);
    prctl(PR_SET_TIMERSLACK, 0UL);
}

} // namespace
