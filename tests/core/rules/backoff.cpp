// SPDX-License-Identifier: BSD-3-Clause
// The pauses of a thread that polls: their order and bounds. How long a thread really pauses depends on the machine, so
// the tests shift the times in the state instead of waiting.
#include <gtest/gtest.h>
#include <thence/backoff.h>

#include <sys/prctl.h>

namespace {

constexpr std::int64_t second = 1'000'000'000;

// As if `time` nanoseconds more had passed since the first yield.
void pass(thence_backoff &b, std::int64_t time) {
    b.since -= time;
}

// Polls until the state says to sleep. Returns the length of that sleep.
std::int64_t until_sleep(thence_backoff &b) {
    for (;;) {
        pass(b, 10'000);
        if (const std::int64_t time = thence_backoff_next(&b); time > 0) {
            return time;
        }
    }
}

TEST(backoff, spins_then_yields_then_sleeps) {
    thence_backoff b = THENCE_BACKOFF_INIT;
    b.spins = 3;
    for (int i = 0; i < 3; ++i) {
        EXPECT_LT(thence_backoff_next(&b), 0);
    }
    EXPECT_EQ(thence_backoff_next(&b), 0);
    const std::int64_t first = until_sleep(b);
    EXPECT_GE(first, 1000);
    pass(b, second);
    EXPECT_EQ(thence_backoff_next(&b), b.longest);
}

TEST(backoff, a_sleep_is_an_eighth_of_the_time_waited) {
    thence_backoff b = THENCE_BACKOFF_INIT;
    b.longest = 10 * second;
    until_sleep(b);
    pass(b, 8 * second);
    const std::int64_t time = thence_backoff_next(&b);
    EXPECT_GE(time, second);
    EXPECT_LT(time, 9 * second); // this test may have been stopped for a while
}

TEST(backoff, no_sleep_is_longer_than_the_bound) {
    thence_backoff b = THENCE_BACKOFF_INIT;
    b.longest = 2000;
    until_sleep(b);
    pass(b, second);
    EXPECT_EQ(thence_backoff_next(&b), 2000);
    b.longest = 0; // too small
    EXPECT_EQ(thence_backoff_next(&b), 1000);
}

TEST(backoff, begins_again_when_something_was_found) {
    thence_backoff b = THENCE_BACKOFF_INIT;
    b.spins = 1;
    until_sleep(b);
    thence_backoff_found(&b);
    EXPECT_LT(thence_backoff_next(&b), 0);
    EXPECT_EQ(thence_backoff_next(&b), 0);
}

TEST(backoff, yields_before_it_sleeps_also_if_it_is_to_spin_less_than_it_has) {
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

TEST(backoff, a_long_yield_ends_the_yields) {
    thence_backoff b = THENCE_BACKOFF_INIT;
    EXPECT_EQ(thence_backoff_next(&b), 0);
    EXPECT_EQ(b.shared, 0U);
    b.yielded -= 1'000'000; // another thread has run
    EXPECT_GT(thence_backoff_next(&b), 0);
    EXPECT_EQ(b.shared, 1U);
    thence_backoff_found(&b);
    EXPECT_EQ(thence_backoff_next(&b), 0); // it tries a yield again
    EXPECT_EQ(b.shared, 0U);
}

TEST(backoff, learns_how_long_it_usually_waits) {
    thence_backoff b = THENCE_BACKOFF_INIT;
    for (int i = 0; i < 50; ++i) {
        thence_backoff_next(&b);
        pass(b, 10'000'000);
        thence_backoff_found(&b);
    }
    EXPECT_GT(b.usual, 5'000'000);
    thence_backoff_next(&b);
    b.since -= 2'000; // longer than it yields where it usually waits for 10 ms
    EXPECT_EQ(thence_backoff_next(&b), b.longest);
}

TEST(backoff, forgets_long_waits_when_it_finds_at_once) {
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

TEST(backoff, a_pause_leaves_the_timer_slack_as_it_was) {
    ASSERT_EQ(prctl(PR_SET_TIMERSLACK, 77'000UL), 0);
    thence_backoff b = THENCE_BACKOFF_INIT;
    until_sleep(b);
    thence_backoff_pause(&b);
    EXPECT_EQ(prctl(PR_GET_TIMERSLACK), 77'000);
    prctl(PR_SET_TIMERSLACK, 0UL);
}

} // namespace
