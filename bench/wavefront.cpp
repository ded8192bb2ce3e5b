// SPDX-License-Identifier: BSD-3-Clause
// The application wavefront on two ranks: each line, or each 8 lines, of a grid of 2,000 columns is a message on the
// critical path. Callbacks and coroutines are compared with MPI_Recv and MPI_Send.
//
// The variants alternate in one process, after every millisecond or two. A launch of ranks takes half a second, and where the
// system then runs them changes a cost of a microsecond for each message by more than the variants differ.
#include "measure/alternate.hpp"
#include "measure/benchmark.hpp"
#include "measure/contest.hpp"

#include "wavefront/variants.hpp"

#include <array>
#include <cstdio>

namespace {

// `mpi` is the baseline. `waitany` shows what plain MPI reaches in an order that follows the messages.
const std::vector<std::string> names{"mpi", "waitany", "callbacks", "coroutine"};
constexpr std::array solvers{wavefront::solve_mpi, wavefront::solve_waitany, wavefront::solve_callbacks,
                             wavefront::solve_coroutine};
constexpr std::size_t mpi = 0, waitany = 1, callbacks = 2;

wavefront::Settings settings_of(long lines_per_message) {
    wavefront::Settings settings;
    settings.columns = 2000;
    settings.lines = 401;
    settings.iterations = 2;
    settings.per_message = static_cast<int>(lines_per_message);
    return settings;
}

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
    const wavefront::Settings settings = settings_of(work.parameter("lines"));
    const int rounds = static_cast<int>(work.parameter("rounds"));
    measure::alternate(work, solvers.size(), rounds, rounds / 20 + 1,
                       [&](std::size_t c) { return run_once(settings, solvers[c], work.rank(), ranks); });
}

// `delay`: between two hosts with a rank each, no bar; empty: both ranks on this machine.
void compare(measure::session &session, long lines, const std::string &delay) {
    const bool brief = session.quick() || !delay.empty();
    const measure::job job{.work = "all",
                           .threads = measure::level::single,
                           .parameters = {{"lines", lines}, {"rounds", brief ? 40 : 300}}};
    std::vector<measure::numbers> launches;
    for (int i = 0; i < (brief ? 1 : 5); ++i)
        launches.push_back(delay.empty() ? session.together(2, job) : session.on_two_hosts(delay, job));
    const measure::contest runs = measure::contest::of_launches(names, launches);
    const std::string size = (lines == 1 ? ", 1 line a message" : ", 8 lines a message") +
                             (delay.empty() ? "" : ", two hosts, delay " + delay);
    const wavefront::Settings settings = settings_of(lines);
    const double messages = settings.iterations * ((settings.lines - 2 + settings.per_message) / settings.per_message);
    char note[100];
    std::snprintf(note, sizeof note, "plain MPI with MPI_Irecv and MPI_Waitany: %.2f times the speed",
                  runs.speed(waitany, mpi).value);
    const std::size_t best = runs.best(callbacks, names.size());
    for (std::size_t c = callbacks; c < names.size(); ++c) {
        measure::figure found = runs.compared(c, mpi);
        found.name += size + (c == best ? ", the better one" : "");
        found.kind = delay.empty() ? measure::bar_kind::at_least : measure::bar_kind::none;
        found.bar = c == best ? 1.0 : 0.95;
        found.against = "MPI_Recv, compute, MPI_Send";
        found.side_unit = "microseconds per message";
        found.ours = runs.seconds(c) / messages * 1e6;
        found.baseline = runs.seconds(mpi) / messages * 1e6;
        found.note = note;
        session.add(std::move(found));
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
