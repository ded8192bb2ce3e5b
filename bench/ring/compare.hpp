// SPDX-License-Identifier: BSD-3-Clause
// Compares modes of the pools with MPI_Testsome in one run. Short blocks of all variants alternate, so that a
// disturbance affects all of them. Up to four ranks, as in the paper's figures of one node.
#pragma once

#include "by_order.hpp"
#include "by_senders.hpp"
#include "by_testsome.hpp"
#include "measure/benchmark.hpp"
#include "measure/every_mode.hpp"

#include <algorithm>
#include <cstdio>
#include <exception>
#include <string>
#include <thread>
#include <vector>

namespace ring {

inline int ranks() {
    return std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 2, 4);
}

struct found {
    std::string mode;
    measure::sample ratio; // its rate divided by that of MPI_Testsome in the same round
    double rate = 0;       // messages per second of all ranks
};

// Variants without pools: transform_mpi alone, and with the option thence::in_completion.
inline const std::string no_pools = "no-pools";
inline const std::string in_completion = "no-pools,in-completion";

// Two variants of the program with MPI_Testsome: it polls only if it has to wait for a slot, or also before each ring.
// The faster one is the baseline.
inline const std::string lazy = "testsome:lazy";
inline const std::string eager = "testsome:eager";
inline const std::vector<std::string> baselines = {lazy, eager};

inline std::string figure(const std::string &what, const std::string &base, const std::string &mode) {
    return what + ":" + base + ":" + mode;
}

inline std::vector<std::string> usual_modes() {
    return {"continuation,inline-request", // the default
            no_pools,
            in_completion,
            "continuation,inline-request,inline-completion",
            "continuation,inline-completion",
            "continuation,inline-request,bypass",
            "new-task,inline-request",
            "mpix,inline-request,inline-completion"};
}

// Runs on every rank. Rank 0 reports the results.
class comparison {
public:
    comparison(measure::work &work, const std::vector<std::string> &modes)
        : work_(work), modes_(modes),
          rings_(static_cast<int>(work.parameter("bytes")), static_cast<int>(work.parameter("rings"))),
          iterations_(static_cast<int>(work.parameter("iterations"))), threads_(threads_per_rank()), pools_(threads_) {}

    void run(int repeats) {
        const std::size_t variants = modes_.size() + baselines.size();
        std::vector<std::vector<double>> rates(variants);
        for (int round = -1; round < repeats; ++round) { // the first one is a warm-up
            for (std::size_t i = 0; i < variants; ++i) {
                const std::size_t variant = variant_at(i, round, variants);
                const double rate = rate_of(variant);
                if (round >= 0) {
                    rates[variant].push_back(rate);
                }
            }
        }
        if (rings_.wrong()) {
            throw std::runtime_error("a message of a ring was wrong");
        }
        for (std::size_t i = 0; i < modes_.size(); ++i) {
            work_.result("rate:" + modes_[i], measure::median_of(rates[i]).value);
        }
        for (std::size_t base = 0; base < baselines.size(); ++base) {
            const std::vector<double> &baseline = rates[modes_.size() + base];
            work_.result(baselines[base], measure::median_of(baseline).value);
            for (std::size_t i = 0; i < modes_.size(); ++i) {
                std::vector<double> ratios(baseline.size());
                for (std::size_t round = 0; round < baseline.size(); ++round) {
                    ratios[round] = rates[i][round] / baseline[round];
                }
                const measure::sample ratio = measure::median_of(ratios);
                work_.result(figure("ratio", baselines[base], modes_[i]), ratio.value);
                work_.result(figure("low", baselines[base], modes_[i]), ratio.low);
                work_.result(figure("high", baselines[base], modes_[i]), ratio.high);
            }
        }
    }

private:
    // Rounds go through the variants forwards and backwards in turn, and start with the next variant after each pair of
    // rounds. So each variant runs equally often after either of its neighbours.
    static std::size_t variant_at(std::size_t i, int round, std::size_t variants) {
        const std::size_t first = static_cast<std::size_t>(std::max(round, 0) / 2);
        return (first + (round % 2 == 0 ? i : variants - 1 - i)) % variants;
    }
    static int threads_per_rank() {
        return std::max(1, static_cast<int>(std::thread::hardware_concurrency()) / ranks());
    }
    double rate_of(std::size_t variant) {
        if (variant >= modes_.size()) {
            return timed(by_testsome(rings_, baselines[variant - modes_.size()] == eager));
        }
        const std::string &mode = modes_[variant];
        if (mode == no_pools) {
            return timed(by_senders(rings_, without_pools<>()));
        }
        if (mode == in_completion) {
            return timed(by_senders(rings_, without_pools<thence::in_completion_t>()));
        }
        const thence::completion_mode how = thence::parse_completion_mode(mode);
        return timed(by_senders(rings_, in_pools{&pools_.for_mode(how), how}));
    }
    // Messages per second in the variant's own steady state. It runs a few rings first, since the order in which the
    // previous variant freed its MPI requests changes the time of the first rings by a tenth.
    template <class Variant> double timed(Variant variant) {
        variant.run(std::max(iterations_ / 10, 1));
        MPI_Barrier(MPI_COMM_WORLD);
        const double start = MPI_Wtime();
        variant.run(iterations_);
        MPI_Barrier(MPI_COMM_WORLD);
        return rings_.messages(iterations_) / (MPI_Wtime() - start);
    }

    measure::work &work_;
    const std::vector<std::string> &modes_;
    traffic rings_;
    int iterations_;
    int threads_;
    measure::pools_of_modes pools_;
};

// The results of several jobs that ran one after the other. Where the system places a job's processes and their memory
// changes its rates by a tenth and more, for as long as the job runs.
struct findings {
    std::vector<found> modes;
    double testsome = 0;          // messages per second of the baseline
    bool eager_is_better = false; // the baseline polls before each ring
};
inline findings run_jobs(measure::session &session, const std::vector<std::string> &modes, int bytes, int iterations,
                         int jobs, int in_flight = usual_in_flight) {
    std::vector<measure::numbers> results;
    results.reserve(static_cast<std::size_t>(jobs));
    for (int i = 0; i < jobs; ++i) {
        results.push_back(session.together(
            ranks(),
            {.work = "compare", .parameters = {{"bytes", bytes}, {"iterations", iterations}, {"rings", in_flight}}}));
    }
    const auto each_of = [&](const std::string &name) {
        std::vector<double> values;
        values.reserve(results.size());
        for (const measure::numbers &job : results) {
            values.push_back(job.at(name));
        }
        return values;
    };
    findings all;
    const double of_lazy = measure::median_of(each_of(lazy)).value;
    const double of_eager = measure::median_of(each_of(eager)).value;
    all.eager_is_better = of_eager > of_lazy;
    all.testsome = std::max(of_lazy, of_eager);
    const std::string &base = all.eager_is_better ? eager : lazy;
    for (const std::string &mode : modes) {
        const std::vector<double> low = each_of(figure("low", base, mode));
        const std::vector<double> high = each_of(figure("high", base, mode));
        all.modes.push_back({mode,
                             {measure::median_of(each_of(figure("ratio", base, mode))).value,
                              *std::min_element(low.begin(), low.end()), *std::max_element(high.begin(), high.end())},
                             measure::median_of(each_of("rate:" + mode)).value});
    }
    return all;
}
inline int usual_jobs(const measure::session &session) {
    return session.quick() ? 1 : 5;
}
inline const found &best_of(const std::vector<found> &all) {
    return *std::max_element(all.begin(), all.end(),
                             [](const found &a, const found &b) { return a.ratio.value < b.ratio.value; });
}
inline std::string baseline_of(const findings &all) {
    return all.eager_is_better
               ? "MPI_Testsome over all requests, in the application, also before each ring (faster here)"
               : "MPI_Testsome over all requests, in the application";
}

// Work whose instructions are counted, on one rank.
inline void count_by_testsome(measure::work &work) {
    traffic rings(static_cast<int>(work.parameter("bytes")));
    work.count([&](long iterations) { by_testsome(rings).run(static_cast<int>(iterations)); });
}
inline void count_by_order(measure::work &work) {
    traffic rings(static_cast<int>(work.parameter("bytes")));
    work.count([&](long iterations) { by_order(rings).run(static_cast<int>(iterations)); });
    if (rings.wrong()) {
        throw std::runtime_error("a message of a ring was wrong");
    }
}

// A note about the largest possible gain: the instructions per message with MPI_Testsome, and without finding
// completions. Empty if instructions cannot be counted.
inline std::string largest_gain(measure::session &session, int bytes) {
    measure::job job{.work = "testsome", .parameters = {{"bytes", bytes}}, .few = 200, .many = 1200};
    double testsome = 0;
    double order = 0;
    try {
        testsome = session.instructions(job).value / rounds;
        job.work = "order";
        order = session.instructions(job).value / rounds;
    } catch (const std::exception &) { // valgrind is missing
        return "";
    }
    char text[200];
    std::snprintf(text, sizeof text,
                  "on one rank a message takes %.0f instructions with MPI_Testsome, and %.0f if the program knows which"
                  " operation completes next: a factor of %.3g",
                  testsome, order, testsome / order);
    return text;
}

// Adds a figure without a bar for each mode.
inline void add_modes(measure::session &session, const std::string &name, const findings &all) {
    for (const found &each : all.modes) {
        session.add({.name = name + each.mode,
                     .found = each.ratio,
                     .unit = "times the messages per second",
                     .against = baseline_of(all),
                     .side_unit = "messages per second",
                     .ours = each.rate,
                     .baseline = all.testsome});
    }
}

// Adds the figures of ring_64 and ring_128k.
inline void judge_against_testsome(measure::session &session, int bytes, int iterations, double bar,
                                   const std::string &note = "") {
    const findings all = run_jobs(session, usual_modes(), bytes, iterations, usual_jobs(session));
    const found &best = best_of(all.modes);
    for (const found &each : all.modes) {
        session.add({.name = each.mode + (&each == &best ? " (best)" : ""),
                     .found = each.ratio,
                     .unit = "times the messages per second",
                     .kind = &each == &best ? measure::bar_kind::at_least : measure::bar_kind::none,
                     .bar = bar,
                     .against = baseline_of(all),
                     .side_unit = "messages per second",
                     .ours = each.rate,
                     .baseline = all.testsome,
                     .note = &each == &best ? note : ""});
    }
}

} // namespace ring
