// SPDX-License-Identifier: BSD-3-Clause
// THENCE_WAIT=sleep: calls learn how long they usually wait, and yield and sleep accordingly. The time is played.
#include "exposure.hpp"
#include "library.hpp"
#include "played_time.hpp"

#include "core/base/processors.hpp"
#include "core/progress/interposed.hpp"
#include "interpose/waiting/unchanged.hpp"
#include "interpose/waiting/usual_wait.hpp"

#include <cstdint>
#include <optional>

namespace {

using namespace thence::fake;
namespace interpose = thence::interpose;

constexpr std::int64_t us = 1'000;
constexpr std::int64_t ms = 1'000'000;
constexpr std::int64_t second = 1'000'000'000;

class usual_wait : public on_fake {
protected:
    void SetUp() override {
        on_fake::SetUp();
        interpose::waits_leave_the_processor = true;
        thence::progress::add_way_to_wait();
        interpose::usual_wait_of_process.forget();
        thence::base::scripted_processors = []() noexcept { return false; };
        time.emplace();
    }
    void TearDown() override {
        time.reset();
        thence::base::scripted_processors = nullptr;
        interpose::usual_wait_of_process.forget();
        thence::progress::remove_way_to_wait();
        interpose::waits_leave_the_processor = false;
        on_fake::TearDown();
    }

    // What a call that waits so long does meanwhile.
    struct found {
        unsigned yields;
        unsigned sleeps;
        std::int64_t longest_sleep;
        std::int64_t late;
    };
    template <class Call> found in_call(std::int64_t lasts, Call &&call) {
        time->yields = time->sleeps = 0;
        time->longest_sleep = 0;
        const std::int64_t end = time->now() + lasts;
        call();
        return {time->yields, time->sleeps, time->longest_sleep, time->now() - end};
    }
    found wait(std::int64_t lasts) {
        return in_call(lasts, [&] {
            MPI_Request r = world.start();
            time->after(lasts, [t = world.ticket_of(r)] { world.complete(t); });
            EXPECT_EQ(MPI_Wait(&r, MPI_STATUS_IGNORE), MPI_SUCCESS);
            EXPECT_EQ(r, MPI_REQUEST_NULL);
        });
    }
    void wait_often(std::int64_t lasts) {
        for (int i = 0; i < 40; ++i) {
            wait(lasts);
        }
    }
    // The same, sooner.
    static void teach(std::int64_t lasts) {
        for (int i = 0; i < 40; ++i) {
            interpose::usual_wait_of_process.learn(lasts);
        }
    }

    std::optional<played_time> time;
};

TEST_P(usual_wait, is_not_known_at_first) {
    const found first = wait(40 * ms);
    EXPECT_GT(first.yields, 100U);
    EXPECT_GT(first.sleeps, 500U);
    EXPECT_LT(first.longest_sleep, 45 * us);
}

TEST_P(usual_wait, that_is_short_makes_calls_yield_for_four_times_as_long) {
    wait_often(150 * us);
    const found later = wait(550 * us);
    EXPECT_EQ(later.sleeps, 0U);
    EXPECT_GT(wait(2 * ms).sleeps, 0U) << "this one is not usual";
}

TEST_P(usual_wait, that_is_long_makes_calls_sleep_sooner_and_longer) {
    wait_often(1 * second);
    const found later = wait(100 * ms);
    EXPECT_LT(later.yields, 60U);
    EXPECT_LT(later.sleeps, 500U);
    EXPECT_GT(later.longest_sleep, 800 * us);
}

TEST_P(usual_wait, that_is_long_makes_no_message_that_comes_sooner_much_later) {
    for (const std::int64_t lasts : {100 * us, 300 * us, 1 * ms, 3 * ms, 10 * ms, 30 * ms}) {
        teach(2 * second);
        EXPECT_LT(wait(lasts).late, lasts / 32 + 45 * us) << lasts;
    }
}

TEST_P(usual_wait, of_milliseconds_leaves_sleeps_short) {
    for (int i = 0; i < 100; ++i) {
        const found each = wait(2 * ms + 2 * ms * (i * 7 % 10));
        EXPECT_LE(each.longest_sleep, 35 * us);
        EXPECT_LT(each.late, 45 * us);
    }
}

TEST_P(usual_wait, is_hardly_changed_by_a_single_other_one) {
    wait_often(100 * us);
    wait(5 * second);
    EXPECT_EQ(wait(360 * us).sleeps, 0U);
    wait_often(100 * us);
    EXPECT_EQ(wait(360 * us).sleeps, 0U) << "it is forgotten";
    teach(5 * second);
    wait(100 * us);
    EXPECT_GT(wait(100 * ms).longest_sleep, 500 * us);
}

// What it costs is measured by `thence bench idle_waiter`: what has been learnt must not make it more.
TEST_P(usual_wait, makes_no_wait_of_seconds_use_more_of_a_processor) {
    const found first = wait(5 * second);
    EXPECT_LT(first.sleeps, 7000U);
    wait_often(300 * us);
    const found after_short_ones = wait(5 * second);
    EXPECT_LE(after_short_ones.sleeps, first.sleeps);
    EXPECT_LT(after_short_ones.yields, 2000U);
    teach(5 * second);
    EXPECT_LT(wait(5 * second).sleeps, 3000U);
}

TEST_P(usual_wait, is_learnt_by_all_kinds_of_calls) {
    const auto learns = [&](const char *name, auto &&call) {
        interpose::usual_wait_of_process.forget();
        for (int i = 0; i < 40; ++i) {
            in_call(10 * ms, call);
        }
        EXPECT_GT(interpose::usual_wait_of_process.length(), 5 * ms) << name;
    };
    learns("MPI_Waitall", [&] {
        MPI_Request r[] = {world.start(), world.start()};
        time->after(10 * ms, [t = world.ticket_of(r[0]), u = world.ticket_of(r[1])] {
            world.complete(t);
            world.complete(u);
        });
        EXPECT_EQ(MPI_Waitall(2, r, MPI_STATUSES_IGNORE), MPI_SUCCESS);
    });
    learns("MPI_Win_wait", [&] {
        exposure_ends = [end = time->now() + 10 * ms, this] { return time->now() >= end; };
        EXPECT_EQ(MPI_Win_wait(MPI_WIN_NULL), MPI_SUCCESS);
        exposure_ends = nullptr;
    });
}

// Where another program wants the processor, yields and sleeps take a time slice of it.
TEST_P(usual_wait, is_none_for_the_processor) {
    for (int i = 0; i < 40; ++i) {
        time->of_a_yield = time->sleeps_longer = i % 2 == 0 ? 4 * ms : 1 * us;
        wait(100 * us);
    }
    EXPECT_LT(interpose::usual_wait_of_process.length(), 200 * us);
    time->of_a_yield = time->sleeps_longer = 4 * ms;
    for (int i = 0; i < 40; ++i) {
        wait(1 * second);
    }
    EXPECT_GT(interpose::usual_wait_of_process.length(), 500 * ms) << "so long a wait is long without it, too";
}

TEST_P(usual_wait, does_not_count_calls_that_need_not_wait) {
    teach(2 * second);
    const std::int64_t before = interpose::usual_wait_of_process.length();
    for (int i = 0; i < 100; ++i) {
        MPI_Request r = world.start();
        world.complete(r);
        EXPECT_EQ(MPI_Wait(&r, MPI_STATUS_IGNORE), MPI_SUCCESS);
    }
    EXPECT_EQ(interpose::usual_wait_of_process.length(), before);
}

THENCE_RULES(usual_wait);

} // namespace
