// SPDX-License-Identifier: BSD-3-Clause
// The application wavefront on two ranks: each line, or each 8 lines, of a grid of 2,000 columns is a message on the
// critical path. Callbacks and coroutines are compared with MPI_Recv and MPI_Send.
//
// The variants alternate in one process, after every millisecond or two. A launch of ranks takes half a second, and
// where the system then runs them changes a cost of a microsecond for each message by more than the variants differ.
#include "judges/wavefront.hpp"
#include "measure/alternate.hpp"
#include "measure/benchmark.hpp"

#include "wavefront/variants.hpp"

#include <array>
#include <cstdio>

namespace {

using namespace measure::wavefront_runs;

// In the order of `names`.
constexpr std::array solvers{wavefront::solve_mpi, wavefront::solve_waitany, wavefront::solve_mpi,
                             wavefront::solve_callbacks, wavefront::solve_coroutine};

wavefront::Settings settings_of(long lines_per_message) {
    wavefront::Settings settings;
    settings.columns = 2000;
    settings.lines = 401;
    settings.iterations = 2;
    settings.per_message = static_cast<int>(lines_per_message);
    return settings;
}

// Seconds of the slower rank. For `computation` each rank has as many columns as a grid of its own. A wrong value ends
// the program.
double run_once(wavefront::Settings settings, std::size_t contender, int rank, int ranks) {
    apps::ProgressBar bar(false, "", 1);
    wavefront::Run run{MPI_COMM_WORLD, {}, nullptr, bar};
    const bool messages = contender != computation;
    if (!messages) {
        settings.columns = 1 + (settings.columns - 1) / ranks;
    }
    run.grids.push_back(std::make_unique<wavefront::Pipeline>(settings, 0, messages ? rank : 0, messages ? ranks : 1));
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = MPI_Wtime();
    solvers[contender](run);
    double seconds = MPI_Wtime() - start;
    if (const std::string wrong = run.grids[0]->check(); !wrong.empty()) {
        std::fprintf(stderr, "wavefront: rank %d: %s: %s\n", rank, names[contender].c_str(), wrong.c_str());
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return seconds;
}

void all(measure::work &work) {
    int ranks = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const wavefront::Settings settings = settings_of(work.parameter("lines"));
    const int rounds = static_cast<int>(work.parameter("rounds"));
    measure::alternate(work, solvers.size(), rounds, rounds / 20 + 1,
                       [&](std::size_t c) { return run_once(settings, c, work.rank(), ranks); });
}

// `delay`: between two hosts with a rank each, no bar; empty: both ranks on this machine.
void compare(measure::session &session, long lines, const std::string &delay) {
    const bool brief = session.quick() || !delay.empty();
    const measure::job job{.work = "all",
                           .threads = measure::level::single,
                           .parameters = {{"lines", lines}, {"rounds", brief ? 40 : 300}}};
    std::vector<measure::numbers> launches(brief ? 1 : 5);
    for (measure::numbers &launch : launches) {
        launch = delay.empty() ? session.together(2, job) : session.on_two_hosts(delay, job);
    }
    const measure::contest runs = measure::contest::of_launches(names, launches);
    const std::string size = (lines == 1 ? ", 1 line a message" : ", 8 lines a message") +
                             (delay.empty() ? "" : ", two hosts, delay " + delay);
    const wavefront::Settings settings = settings_of(lines);
    const int per_iteration = (settings.lines - 2 + settings.per_message) / settings.per_message;
    for (measure::figure &found : figures_of(runs, size, settings.iterations * per_iteration, delay.empty())) {
        session.add(std::move(found));
    }
}

void judge(measure::session &session) {
    compare(session, 1, "");
    compare(session, 8, "");
    if (const std::string why = session.why_no_two_hosts(); !why.empty()) {
        session.skip("two hosts with a delay of 300 us: not measured, it " + why);
    } else {
        compare(session, 8, "300us");
    }
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
