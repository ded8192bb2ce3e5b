// SPDX-License-Identifier: BSD-3-Clause
// The application wavefront on two ranks: each line, or each 8 lines, of a grid of 2,000 columns is a message on the
// critical path. Callbacks and coroutines are compared with MPI_Recv and MPI_Send. Short runs of all variants alternate,
// so that a disturbance affects all.
#include "measure/benchmark.hpp"

#include "wavefront/variants.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

namespace {

struct contender {
    const char *name;
    void (*solve)(wavefront::Run &);
};
constexpr std::array contenders{contender{"mpi", wavefront::solve_mpi}, contender{"waitany", wavefront::solve_waitany},
                                contender{"callbacks", wavefront::solve_callbacks},
                                contender{"coroutine", wavefront::solve_coroutine}};

// Seconds of the slower rank. A wrong value ends the program.
double run_once(const wavefront::Settings &settings, void (*solve)(wavefront::Run &), int rank, int ranks) {
    apps::ProgressBar bar(false, "", 1);
    wavefront::Run run{MPI_COMM_WORLD, {}, nullptr, bar};
    run.grids.push_back(std::make_unique<wavefront::Pipeline>(settings, 0, rank, ranks));
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = MPI_Wtime();
    solve(run);
    double seconds = MPI_Wtime() - start;
    if (const std::string wrong = run.grids[0]->check(); !wrong.empty()) {
        std::fprintf(stderr, "wavefront: rank %d: %s\n", rank, wrong.c_str());
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return seconds;
}

void all(measure::work &work) {
    int ranks = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    wavefront::Settings settings;
    settings.columns = 2000;
    settings.lines = 401;
    settings.iterations = 2;
    settings.per_message = static_cast<int>(work.parameter("lines"));
    const int blocks = static_cast<int>(work.parameter("blocks"));
    std::array<std::vector<double>, contenders.size()> speeds;
    std::array<std::vector<double>, contenders.size()> seconds;
    for (int i = -blocks / 20; i < blocks; ++i) {
        std::array<double, contenders.size()> took{};
        for (std::size_t k = 0; k < contenders.size();
             ++k) { // each is first in turn: the scheduler may favour one place
            const std::size_t c = (k + static_cast<std::size_t>(i + blocks)) % contenders.size();
            took[c] = run_once(settings, contenders[c].solve, work.rank(), ranks);
        }
        for (std::size_t c = 0; c < contenders.size() && i >= 0; ++c) { // the first blocks are warm-ups
            speeds[c].push_back(took[0] / took[c]);
            seconds[c].push_back(took[c]);
        }
    }
    const double messages = 2.0 * ((settings.lines - 2 + settings.per_message) / settings.per_message);
    for (std::size_t c = 0; c < contenders.size(); ++c) {
        work.result(contenders[c].name, measure::median_of(speeds[c]).value);
        work.result(std::string(contenders[c].name) + "_us", measure::median_of(seconds[c]).value / messages * 1e6);
    }
}

// `delay`: between two hosts with a rank each, no bar; empty: both ranks on this machine.
void compare(measure::session &session, long lines, const std::string &delay) {
    const int runs = session.quick() || !delay.empty() ? 1 : 5;
    std::map<std::string, std::vector<double>> found;
    for (int i = 0; i < runs; ++i) {
        const measure::job job{
            .work = "all",
            .threads = measure::level::single,
            .parameters = {{"lines", lines}, {"blocks", session.quick() || !delay.empty() ? 40 : 300}}};
        const measure::numbers one = delay.empty() ? session.together(2, job) : session.on_two_hosts(delay, job);
        for (const auto &[name, value] : one)
            found[name].push_back(value);
        found["best"].push_back(std::max(one.at("callbacks"), one.at("coroutine")));
        found["best_us"].push_back(std::min(one.at("callbacks_us"), one.at("coroutine_us")));
    }
    const std::string size = (lines == 1 ? ", 1 line a message" : ", 8 lines a message") +
                             (delay.empty() ? "" : ", two hosts, delay " + delay);
    char waitany[100];
    std::snprintf(waitany, sizeof waitany, "plain MPI with MPI_Irecv and MPI_Waitany: %.2f times the speed",
                  measure::median_of(found["waitany"]).value);
    for (const char *name : {"callbacks", "coroutine", "best"}) {
        const bool best = std::string(name) == "best";
        session.add({.name = name + size,
                     .found = measure::median_of(found[name]),
                     .unit = "times the speed",
                     .kind = delay.empty() ? measure::bar_kind::at_least : measure::bar_kind::none,
                     .bar = best ? 1.0 : 0.95,
                     .against = "MPI_Recv, compute, MPI_Send",
                     .side_unit = "microseconds per message",
                     .ours = measure::median_of(found[name + std::string("_us")]).value,
                     .baseline = measure::median_of(found["mpi_us"]).value,
                     .note = waitany});
    }
}

void judge(measure::session &session) {
    compare(session, 1, "");
    compare(session, 8, "");
    if (const std::string why = session.why_no_two_hosts(); !why.empty())
        session.skip("two hosts with a delay of 300 us: not measured, it " + why);
    else
        compare(session, 8, "300us");
}

} // namespace

int main(int argc, char **argv) {
    return measure::main(
        argc, argv,
        {.name = "wavefront",
         .about = "lines of a grid that move through two ranks as a pipeline, compared with MPI_Recv and MPI_Send",
         .bars = "callbacks and coroutine at least 0.95 times the speed, the better one 1.0 times",
         .pieces = {{"all", all}},
         .judge = judge});
}
