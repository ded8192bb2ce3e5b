// SPDX-License-Identifier: BSD-3-Clause
// How many tasks a rank offloads (thence/offload/quotas.hpp), and for how long it is idle
// (thence/offload/idle_time.hpp): ranks, costs and times are played, without MPI.
#include <thence/offload/idle_time.hpp>
#include <thence/offload/quotas.hpp>

#include <algorithm>
#include <gtest/gtest.h>
#include <string>

namespace {

using thence::offload_settings;
using thence::detail::offload_measured;
using thence::detail::offload_quotas;

// Ranks that compute `tasks` tasks each, of `cost` seconds where they come from, `slow` times as long where they run.
class Play {
public:
    Play(std::vector<double> costs, std::vector<double> slowness, int tasks_of_each, double gain = 0.7)
        : cost(std::move(costs)), slow(std::move(slowness)), serial(cost.size(), 0.0), tasks(tasks_of_each) {
        settings.gain = gain;
        for (std::size_t i = 0; i < cost.size(); ++i) {
            all.emplace_back(settings, static_cast<int>(i), static_cast<int>(cost.size()));
        }
    }

    // Returns the time of the step.
    double step() {
        std::vector<double> busy(cost.size(), 0.0);
        std::vector<offload_measured> measured(cost.size());
        for (std::size_t i = 0; i < cost.size(); ++i) {
            int own = tasks;
            for (int offered = 1; offered < tasks; ++offered) {
                if (tasks - own == most) {
                    all[i].lacks_slot();
                } else if (const int target = all[i].take(); target >= 0) {
                    const auto t = static_cast<std::size_t>(target);
                    busy[t] += cost[i] * slow[t];
                    measured[t].foreign++;
                    all[i].returned(target);
                    own--;
                }
            }
            busy[i] += serial[i] + own * cost[i] * slow[i];
            measured[i].task_seconds = cost[i] * slow[i];
        }
        const double longest = *std::max_element(busy.begin(), busy.end());
        for (std::size_t i = 0; i < cost.size(); ++i) {
            measured[i].waited = longest - busy[i];
        }
        for (offload_quotas &each : all) {
            each.balance(measured, longest);
        }
        return longest;
    }
    double after(int steps) {
        double last = 0;
        for (int i = 0; i < steps; ++i) {
            last = step();
        }
        return last;
    }

    offload_settings settings;
    std::vector<double> cost, slow, serial; // `serial`: seconds of each step that are no task
    int tasks, most = 1000;                 // `most`: tasks of a rank that can be away at once
    std::vector<offload_quotas> all;
};

TEST(Quotas, a_balanced_load_stays_at_home) {
    Play play({1, 1, 1}, {1, 1, 1}, 20);
    EXPECT_EQ(play.after(10), 20);
    EXPECT_EQ(play.all[0].quota(1), 0);
}

TEST(Quotas, a_slow_rank_is_evened_out) {
    Play play({1, 1}, {2, 1}, 60);
    EXPECT_EQ(play.step(), 120);
    EXPECT_LE(play.after(10), 82); // 80 is the least
    EXPECT_EQ(play.all[1].quota(0), 0);
}

TEST(Quotas, dear_tasks_are_evened_out_over_four_ranks) {
    Play play({4, 1, 1, 1}, {1, 1, 1, 1}, 60);
    EXPECT_EQ(play.step(), 240);
    EXPECT_LE(play.after(30), 113); // 105 is the least
}

TEST(Quotas, when_the_load_moves_tasks_are_taken_back_first) {
    Play play({1, 1}, {2, 1}, 60);
    play.after(10);
    std::swap(play.slow[0], play.slow[1]);
    EXPECT_LE(play.after(10), 83);
    EXPECT_EQ(play.all[0].quota(1), 0);
    EXPECT_GT(play.all[1].quota(0), 0);
}

TEST(Quotas, more_gain_follows_faster) {
    Play careful({1, 1}, {2, 1}, 60, 0.2), bold({1, 1}, {2, 1}, 60, 0.9);
    EXPECT_GT(careful.after(3), bold.after(3));
    EXPECT_LE(careful.after(30), 84);
}

TEST(Quotas, late_results_halve_the_quota_and_then_pause_the_rank) {
    Play play({1, 1}, {2, 1}, 60);
    play.settings.pause_steps = 3;
    play.after(10);
    offload_quotas &home = play.all[0];
    const int before = home.quota(1);
    ASSERT_GT(before, 4);
    for (int i = 0; i < before; ++i) {
        ASSERT_EQ(home.take(), 1);
    }
    EXPECT_EQ(home.look_for_late(1), 0) << "not yet late";
    EXPECT_EQ(home.look_for_late(100), 1);
    EXPECT_EQ(home.look_for_late(100), 0) << "one emergency in a step";
    EXPECT_EQ(home.quota(1), before / 2);
    EXPECT_EQ(home.away(), std::to_string(before) + " tasks on rank 1");
    home.balance({{0, 1, 0}, {0, 1, 0}}, 100);
    EXPECT_EQ(home.look_for_late(100), 1) << "the second in a row";
    for (int i = 0; i < before; ++i) {
        home.returned(1);
    }
    EXPECT_EQ(home.away(), "");
    for (int step = 0; step < 3; ++step) {
        home.balance({{0, 1, 0}, {50, 1, 0}}, 100);
        EXPECT_EQ(home.take(), -1) << "paused, step " << step;
    }
    home.balance({{0, 1, 0}, {50, 1, 0}}, 100);
    EXPECT_EQ(home.take(), 1) << "tried again";
}

TEST(Quotas, late_results_of_fewer_tasks_than_the_quota_halve_these) {
    Play play({1, 1}, {2, 1}, 60);
    play.after(10);
    offload_quotas &home = play.all[0];
    ASSERT_GT(home.quota(1), 4);
    ASSERT_EQ(home.take(), 1);
    ASSERT_EQ(home.take(), 1);
    EXPECT_EQ(home.look_for_late(100), 1);
    EXPECT_EQ(home.quota(1), 1);
}

TEST(Quotas, tasks_come_home_soon_where_more_should_have_moved_than_could) {
    Play few({1, 1}, {6, 1}, 60); // a sixth of the slots that it would need
    few.most = 8;
    few.after(200);
    few.slow = {1, 1};
    EXPECT_LE(few.after(10), 61); // 60 is the least
    EXPECT_LE(few.all[0].quota(1), 1);

    Play serial({1, 1}, {1, 1}, 40); // evened out if there were 150 tasks more
    serial.serial = {300, 0};
    serial.after(200);
    serial.serial = {0, 0};
    EXPECT_LE(serial.after(10), 41);
    EXPECT_LE(serial.all[0].quota(1), 1);
}

TEST(Quotas, a_step_of_few_tasks_does_not_forget_the_quota) {
    Play play({1, 1}, {2, 1}, 60);
    play.after(10);
    ASSERT_GE(play.all[0].quota(1), 18);
    for (int i = 0; i < 5; ++i) {
        play.tasks = 2, play.serial = {0, 3}; // rank 0 waits longer, and has one task away
        play.step();
        EXPECT_GE(play.all[0].quota(1), 15);
        play.tasks = 60, play.serial = {0, 0};
        EXPECT_LE(play.step(), 90); // 80 is the least, 120 with none away
    }
}

TEST(Quotas, tasks_come_home_soon_where_steps_have_fewer_from_now_on) {
    Play play({1, 1}, {6, 1}, 10000);
    play.after(10);
    ASSERT_GE(play.all[0].quota(1), 5000);
    play.tasks = 100, play.slow = {1, 1};
    EXPECT_LE(play.after(40), 101); // 100 is the least
    EXPECT_LE(play.all[0].quota(1), 1);
}

TEST(Quotas, tasks_that_stay_at_home_bound_the_quota) {
    Play play({1, 1}, {1, 1}, 40);
    play.serial = {30000, 0};
    play.after(10);
    EXPECT_EQ(play.all[0].quota(1), 39);
}

TEST(Quotas, are_together_no_more_than_the_tasks_that_there_are) {
    Play play({1, 1, 1, 1}, {1, 1, 1, 1}, 40);
    play.serial = {30000, 0, 0, 0};
    play.after(30);
    const offload_quotas &home = play.all[0];
    EXPECT_LE(home.quota(1) + home.quota(2) + home.quota(3), 39);
    EXPECT_GE(home.quota(1) + home.quota(2) + home.quota(3), 36);
}

TEST(Quotas, a_step_without_tasks_changes_nothing) {
    Play play({1, 1}, {2, 1}, 60);
    play.after(10);
    const int before = play.all[0].quota(1);
    play.tasks = 0;
    play.after(3);
    EXPECT_EQ(play.all[0].quota(1), before);
}

TEST(Quotas, a_rank_alone_offloads_nothing) {
    Play play({1}, {1}, 5);
    EXPECT_EQ(play.after(3), 5);
}

TEST(IdleTime, is_that_of_a_worker_while_no_other_runs_a_task) {
    thence::detail::offload_idle_time time;
    EXPECT_EQ(time.idle(10, 12), 2);
    time.task_begins(); // on another worker
    EXPECT_EQ(time.idle(10, 100), 0);
    time.task_begins();
    time.task_ends(110);
    EXPECT_EQ(time.idle(10, 120), 0);
    EXPECT_EQ(time.without_result(10, 120), 0);
    time.task_ends(130);
    EXPECT_EQ(time.idle(10, 130), 0);
    EXPECT_EQ(time.idle(10, 131), 1);
    EXPECT_EQ(time.idle(132, 135), 3);
    EXPECT_EQ(time.idle(132, 131), 0) << "another worker has read the clock before";
}

TEST(IdleTime, results_that_come_one_after_the_other_are_late_but_not_lost) {
    thence::detail::offload_idle_time time;
    time.result_came(50);
    EXPECT_EQ(time.idle(10, 60), 50);
    EXPECT_EQ(time.without_result(10, 60), 10);
    time.result_came(60);
    EXPECT_EQ(time.without_result(10, 60), 0);
}

} // namespace
