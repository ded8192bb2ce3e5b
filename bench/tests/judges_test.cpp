// SPDX-License-Identifier: BSD-3-Clause
// What stands beside a bar: for times that meet it and for times that miss it, in each benchmark of an application.
#include "judges/bt_mz.hpp"
#include "judges/heat.hpp"
#include "judges/latency_mt.hpp"
#include "judges/streaming.hpp"
#include "judges/wavefront.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace {

using measure::bar_kind;
using measure::contender;
using measure::contest;
using measure::figure;
using measure::numbers;

bool has(const std::string &text, const std::string &part) {
    return text.find(part) != std::string::npos;
}

figure judged(double value, bar_kind kind, double bar) {
    return {.found = {value, value, value}, .unit = "times", .kind = kind, .bar = bar};
}

std::string note_of(figure judged, double limit) {
    add_limit(judged, {.what = "computation", .value = limit});
    return judged.note;
}

TEST(limit, of_a_bar_that_is_met_it_says_no_more_than_the_value) {
    EXPECT_EQ(note_of(judged(1.2, bar_kind::at_least, 1), 1.3), "limit: computation: 1.3 times");
    EXPECT_EQ(note_of(judged(0.4, bar_kind::at_most, 0.5), 0.3), "limit: computation: 0.3 times");
}

TEST(limit, beside_a_missed_bar_it_says_whether_the_bar_can_be_met) {
    EXPECT_EQ(note_of(judged(0.9, bar_kind::at_least, 1), 0.97),
              "limit: computation: 0.97 times, so the bar cannot be met here");
    EXPECT_EQ(note_of(judged(0.9, bar_kind::at_least, 1), 1.1), "limit: computation: 1.1 times, which allows the bar");
    EXPECT_EQ(note_of(judged(0.7, bar_kind::at_most, 0.5), 0.6),
              "limit: computation: 0.6 times, so the bar cannot be met here");
    EXPECT_EQ(note_of(judged(0.7, bar_kind::at_most, 0.5), 0.4), "limit: computation: 0.4 times, which allows the bar");
}

TEST(limit, a_figure_that_surpasses_it_shows_that_it_is_none) {
    EXPECT_EQ(note_of(judged(0.9, bar_kind::at_least, 1), 0.8),
              "limit: computation: 0.8 times; this run surpasses it, so it is no limit here");
    EXPECT_EQ(note_of(judged(0.7, bar_kind::at_most, 0.5), 0.8),
              "limit: computation: 0.8 times; this run surpasses it, so it is no limit here");
    EXPECT_EQ(note_of(judged(1.4, bar_kind::at_least, 1), 1.3),
              "limit: computation: 1.3 times; this run surpasses it, so it is no limit here");
}

TEST(limit, another_program_that_surpasses_it_shows_that_it_is_none) {
    figure found = judged(0.7, bar_kind::at_least, 0.95);
    add_limit(found, {.what = "computation", .value = 0.9, .reached = 1});
    EXPECT_EQ(found.note, "limit: computation: 0.9 times; this run surpasses it, so it is no limit here");
}

TEST(limit, a_value_just_below_the_bar_has_the_digits_that_show_it) {
    EXPECT_EQ(note_of(judged(0.9, bar_kind::at_least, 1), 0.99996),
              "limit: computation: 0.99996 times, so the bar cannot be met here");
    EXPECT_EQ(measure::text_beside(1.15, 1.15), "1.15");
    EXPECT_EQ(measure::text_beside(1.1499, 1.15), "1.1499");
    EXPECT_EQ(measure::text_beside(1.14, 1.15), "1.14");
    EXPECT_EQ(measure::text_beside(299.8, 300), "299.8");
}

TEST(limit, where_none_is_known_a_missed_bar_says_so) {
    figure missed = judged(0.9, bar_kind::at_least, 1), met = judged(1, bar_kind::at_least, 1);
    missed.note = "before";
    add_no_limit(missed, "noise");
    add_no_limit(met, "noise");
    EXPECT_EQ(missed.note, "before; no limit is known: noise");
    EXPECT_EQ(met.note, "");
}

TEST(limit, is_in_the_json_of_a_figure) {
    figure found = judged(0.9, bar_kind::at_least, 1);
    EXPECT_FALSE(nlohmann::json(found).contains("limit"));
    add_limit(found, {.what = "computation", .value = 0.97});
    EXPECT_EQ(nlohmann::json(found).get<figure>().limit, 0.97);
}

// A contender that takes this time in each run, and computes so long.
contender taking(const std::string &name, double seconds, double computation) {
    return {name, [=] { return numbers{{"seconds", seconds}, {"compute_seconds", computation}}; }};
}

// Fork-join takes 10 s. The variants from mpi on take these times, and all compute for so long.
std::vector<figure> bt_mz(const measure::bt_mz_runs::shape &of, const std::vector<double> &seconds,
                          double computation) {
    std::vector<contender> all{taking("fork-join", 10, computation + 0.5)};
    for (std::size_t i = 0; i < seconds.size(); ++i) {
        all.push_back(taking(measure::bt_mz_runs::names[measure::bt_mz_runs::first_variant(of) + i], seconds[i],
                             i == 0 ? computation : computation + 0.25));
    }
    return figures_of(contest(all, 3), of, 1);
}

TEST(bt_mz, the_best_with_continuations_and_the_best_with_tasks_have_the_bar) {
    const auto found = bt_mz({.ranks = 2, .threads = 1, .bar = 1.05}, {10.5, 10, 9, 12, 11, 12}, 8);
    ASSERT_EQ(found.size(), 6U);
    for (const std::size_t without : {0, 1, 3, 5}) {
        EXPECT_EQ(found[without].kind, bar_kind::none) << found[without].name;
    }
    const figure &callbacks = found[2], &dataflow = found[4];
    EXPECT_EQ(callbacks.name, "callbacks, the best with continuations");
    EXPECT_EQ(dataflow.name, "dataflow, the best with tasks");
    EXPECT_EQ(callbacks.bar, 1.05);
    EXPECT_EQ(dataflow.bar, 1.05);
    EXPECT_TRUE(callbacks.passed());
    EXPECT_FALSE(dataflow.passed());
    const std::string peer = "plain MPI in the same order (waitsome): 1 times the speed; ",
                      limit = "limit: computation alone, without messages, waiting and tasks: 1.25 times the speed";
    EXPECT_EQ(callbacks.note, peer + limit);
    EXPECT_EQ(dataflow.note, peer + limit + ", which allows the bar");
}

TEST(bt_mz, a_task_variant_that_is_best_of_all_is_one_figure) {
    const auto found = bt_mz({.ranks = 2, .threads = 1}, {10, 10, 10, 9, 11, 11}, 8);
    EXPECT_EQ(found[3].name, "omp-tasks, the best with continuations, the best with tasks");
    EXPECT_EQ(found[2].kind, bar_kind::none);
    EXPECT_EQ(found[4].kind, bar_kind::none);
}

TEST(bt_mz, two_threads_have_a_limit_too) {
    const auto missed = bt_mz({.ranks = 1, .threads = 2}, {11, 12, 12}, 10.5);
    EXPECT_EQ(missed[0].name, "omp-tasks, the best with tasks");
    EXPECT_EQ(missed[0].note,
              "limit: computation alone, without messages, waiting and tasks: 0.952 times the speed, so the "
              "bar cannot be met here");
    EXPECT_EQ(missed[1].kind, bar_kind::none);
    const auto met = bt_mz({.ranks = 1, .threads = 2}, {9, 12, 12}, 8);
    EXPECT_TRUE(met[0].passed());
    EXPECT_EQ(met[0].note, "limit: computation alone, without messages, waiting and tasks: 1.25 times the speed");
}

TEST(bt_mz, runs_that_do_not_say_how_long_they_compute_have_no_limit) {
    const contest runs({{"a", [] { return numbers{{"seconds", 1}}; }}}, 1);
    EXPECT_THROW(runs.speed_of_computation(0), std::runtime_error);
}

// MPI only takes 10 s; two variants take these times in each of the two shapes.
std::vector<figure> heat(const std::vector<double> &seconds, int &limits_measured) {
    std::vector<contender> all{taking("mpi", 10, 1)};
    for (std::size_t i = 0; i < seconds.size(); ++i) {
        all.push_back(taking("tasks " + std::to_string(i), seconds[i], 1));
    }
    limits_measured = 0;
    return measure::heat_runs::figures_of(
        contest(all, 1), "dear", {{.variant = 0, .of = {2, 1}, .bar = 1.2}}, {{2, 2}, {1, 2}}, 2,
        [&](std::size_t best, const measure::heat_runs::opponent &) {
            ++limits_measured;
            return measure::limit{.what = "limit of " + std::to_string(best), .value = 1.1};
        });
}

TEST(heat, the_bar_is_for_tasks_with_messages) {
    int limits = 0;
    const auto found = heat({10, 9, 5, 4}, limits);
    ASSERT_EQ(found.size(), 2U);
    EXPECT_EQ(found[0].name, "dear: tasks 1, the best with tasks and messages");
    EXPECT_EQ(found[0].kind, bar_kind::at_least);
    EXPECT_FALSE(found[0].passed());
    EXPECT_EQ(found[0].note, "limit: limit of 2: 1.1 times the speed; this run surpasses it, so it is no limit here");
    EXPECT_EQ(found[1].name, "dear: tasks 3, the best with tasks on one rank, without messages");
    EXPECT_EQ(found[1].kind, bar_kind::none);
    EXPECT_EQ(limits, 1);
}

TEST(heat, a_limit_is_measured_only_for_a_missed_bar) {
    int limits = 0;
    EXPECT_TRUE(heat({10, 8, 5, 4}, limits)[0].note.empty());
    EXPECT_EQ(limits, 0);
    EXPECT_TRUE(
        has(heat({10, 9.5, 5, 4}, limits)[0].note, "limit of 2: 1.1 times the speed, so the bar cannot be met here"));
    EXPECT_EQ(limits, 1);
}

// Seconds of mpi, waitany, computation, callbacks and coroutine.
std::vector<figure> wavefront(const std::vector<double> &seconds, bool bars = true) {
    numbers launch;
    for (std::size_t c = 0; c < seconds.size(); ++c) {
        launch["seconds_" + std::to_string(c)] = seconds[c];
    }
    return measure::wavefront_runs::figures_of(contest::of_launches(measure::wavefront_runs::names, {launch}),
                                               ", 8 lines", 1000, bars);
}

TEST(wavefront, what_plain_mpi_reaches_is_no_limit) {
    const auto found = wavefront({10, 10, 8, 11, 12});
    EXPECT_EQ(found[0].name, "callbacks, 8 lines, the better one");
    EXPECT_EQ(found[0].bar, 1);
    EXPECT_EQ(found[1].name, "coroutine, 8 lines");
    EXPECT_EQ(found[1].bar, 0.95);
    for (const figure &f : found) {
        EXPECT_FALSE(f.passed());
        EXPECT_EQ(f.note,
                  "plain MPI, MPI_Waitany: 1 times the speed; limit: the computation of a rank, without messages: "
                  "1.25 times the speed, which allows the bar");
    }
}

TEST(wavefront, a_computation_that_took_longer_than_a_run_with_messages_is_no_limit) {
    EXPECT_TRUE(has(wavefront({10, 10, 11, 12, 12})[0].note, "0.909 times the speed; this run surpasses it"));
    EXPECT_TRUE(has(wavefront({10, 8, 9, 12, 12})[0].note, "1.11 times the speed; this run surpasses it"));
}

TEST(wavefront, bars_that_are_met_and_figures_without_bars) {
    const auto met = wavefront({10, 10, 8, 10, 10.2});
    EXPECT_TRUE(met[0].passed() && met[1].passed());
    EXPECT_EQ(met[0].note,
              "plain MPI, MPI_Waitany: 1 times the speed; limit: the computation of a rank, without messages: "
              "1.25 times the speed");
    EXPECT_EQ(wavefront({10, 10, 8, 11, 12}, false)[0].kind, bar_kind::none);
}

TEST(latency_mt, the_limit_is_one_thread_without_fibers) {
    const auto latency = [](double fibers, double waitany) {
        return measure::latency_runs::compared("8 B", "threads", {fibers, fibers, 9}, {2, 2, 9}, {waitany, waitany, 9});
    };
    EXPECT_TRUE(latency(0.8, 0.6).passed());
    EXPECT_TRUE(has(latency(0.8, 0.6).note, "; limit: one thread without fibers, MPI_Irecv, MPI_Isend and MPI_Waitany: "
                                            "0.3 times the latency"));
    EXPECT_FALSE(has(latency(0.8, 0.6).note, "bar"));
    EXPECT_TRUE(has(latency(1.3, 1.2).note, ": 0.6 times the latency, so the bar cannot be met here"));
    EXPECT_TRUE(has(latency(1.3, 0.6).note, ": 0.3 times the latency, which allows the bar"));
}

TEST(streaming, bars_are_at_small_blocks_and_where_each_is_best) {
    namespace runs = measure::streaming_runs;
    numbers launch;
    for (std::size_t v = 0; v < runs::variants.size(); ++v) {
        for (std::size_t b = 0; b < runs::blocks.size(); ++b) {
            launch["seconds_" + std::to_string(runs::contender_of(v, b))] = 10;
        }
    }
    launch["seconds_" + std::to_string(runs::contender_of(runs::tagaspi, 0))] = 8; // 1.25 times TAMPI
    launch["seconds_" + std::to_string(runs::contender_of(runs::mpi, 3))] = 7;
    const auto found = runs::figures_of(contest::of_launches(runs::contenders(), {launch}), 5, 2, ", hosts");
    ASSERT_EQ(found.size(), runs::blocks.size() + 2);
    EXPECT_EQ(found[0].name, "tagaspi, blocks of 64, hosts");
    EXPECT_EQ(found[0].bar, 1.2);
    EXPECT_TRUE(found[0].passed());
    EXPECT_EQ(found[0].ours, 4000.0);
    EXPECT_EQ(found[1].bar, 1.2);
    EXPECT_FALSE(found[1].passed());
    EXPECT_EQ(found[1].note,
              "limit: the computation of a rank, without messages and tasks: 2 times the speed, which allows the bar");
    EXPECT_EQ(found[2].kind, bar_kind::none);
    const figure &against_mpi = found[runs::blocks.size()];
    EXPECT_EQ(against_mpi.name, "tagaspi, blocks of 64 (its best), hosts");
    EXPECT_EQ(against_mpi.against, "MPI only at its best, mpi, blocks of 4096");
    EXPECT_EQ(against_mpi.bar, 0.95);
    EXPECT_NEAR(against_mpi.found.value, 7.0 / 8, 1e-9);
    EXPECT_EQ(found.back().kind, bar_kind::none);
}

} // namespace
