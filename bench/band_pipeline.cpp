// SPDX-License-Identifier: BSD-3-Clause
// Reduction of a band matrix to tridiagonal form on two ranks: many small messages between neighbours, and while one is
// in flight only other stations have work. Senders over the pools are compared with blocking receives of the same
// algorithm. Repetitions of all variants alternate within one run.
#include "measure/benchmark.hpp"
#include "measure/slowest.hpp"

#include "band/by_blocking.hpp"
#include "band/by_senders.hpp"

#include <stdexcept>

namespace {

constexpr int modes = 2;
thence::completion_mode mode_of(int which) {
    return {.inline_completion = which == 1};
}

void all(measure::work &work) {
    const band::ranks ranks({.order = static_cast<int>(work.parameter("order")),
                             .width = static_cast<int>(work.parameter("width")),
                             .steps = static_cast<int>(work.parameter("steps"))});
    const int rounds = work.quick() ? 9 : 41;
    const band::tridiagonal expected = work.rank() == 0 ? band::reduce_alone(ranks.problem()) : band::tridiagonal();
    thence::pools pools({.workers = 0}); // the waiting thread does all the work
    band::by_blocking blocking(ranks);

    const auto seconds = [&](auto &&variant) {
        band::tridiagonal found;
        const double took = measure::seconds_of_slowest(ranks.comm(), [&] { found = variant.run(); });
        if (found != expected) {
            throw std::runtime_error("the result differs from that of a single station");
        }
        return took;
    };
    std::vector<double> base;
    std::vector<double> ours[modes];
    std::vector<double> ratios[modes];
    for (int i = -1; i < rounds; ++i) {
        const double with_blocking = seconds(blocking);
        if (i >= 0) { // the first repetition is a warm-up
            base.push_back(with_blocking);
        }
        for (int mode = 0; mode < modes; ++mode) {
            const double with_senders = seconds(band::by_senders(ranks, pools, mode_of(mode)));
            if (i >= 0) {
                ours[mode].push_back(with_senders);
                ratios[mode].push_back(with_blocking / with_senders);
            }
        }
    }
    work.result("blocking", measure::median_of(base).value * 1e3);
    for (int mode = 0; mode < modes; ++mode) {
        const std::string name = std::to_string(mode);
        std::sort(ratios[mode].begin(), ratios[mode].end());
        work.result("senders" + name, measure::median_of(ours[mode]).value * 1e3);
        work.result("ratio" + name, measure::median_of(ratios[mode]).value);
        work.result("low" + name, ratios[mode][ratios[mode].size() / 4]);
        work.result("high" + name, ratios[mode][ratios[mode].size() * 3 / 4]);
    }
}

void judge(measure::session &session) {
    constexpr long order = 768;
    constexpr long width = 16;
    for (const long steps : {1L, 4L}) {
        const measure::numbers found =
            session.together(2, {.work = "all", .parameters = {{"order", order}, {"width", width}, {"steps", steps}}});
        for (int mode = 0; mode < modes; ++mode) {
            const std::string number = std::to_string(mode);
            session.add({.name = std::string(mode == 0 ? "default mode, " : "inline completion, ") +
                                 std::to_string(steps) + (steps == 1 ? " step" : " steps") + " between messages",
                         .found = {found.at("ratio" + number), found.at("low" + number), found.at("high" + number)},
                         .unit = "times the speed",
                         .against = "blocking receives, order " + std::to_string(order) + ", " + std::to_string(width) +
                                    " subdiagonals",
                         .side_unit = "milliseconds",
                         .ours = found.at("senders" + number),
                         .baseline = found.at("blocking")});
        }
    }
}

} // namespace

int main(int argc, char **argv) {
    return measure::main(argc, argv,
                         {.name = "band_pipeline",
                          .about = "band matrix to tridiagonal form on 2 ranks, neighbour messages of a few hundred "
                                   "bytes: senders compared with blocking receives",
                          .bars = "none",
                          .pieces = {{"all", all}},
                          .judge = judge});
}
