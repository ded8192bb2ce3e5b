// SPDX-License-Identifier: BSD-3-Clause
// The application streaming on two hosts with a rank each and a delay between them: tasks that write blocks with
// notifications (TAGASPI) against tasks that send them (TAMPI) and against MPI only, over the size of blocks. Each
// variant has processes of its own, with the thread level that the application asks for; all sizes of blocks alternate
// in them.
#include "judges/streaming.hpp"
#include "measure/alternate.hpp"
#include "measure/benchmark.hpp"

#include "streaming/run.hpp"

#include <algorithm>
#include <cstdio>
#include <thence/dataflow.h>
#include <thence/task_runtime.h>

namespace {

using namespace measure::streaming_runs;

constexpr int chunks = 6;

// One variant with all sizes of blocks. A wrong number ends the program.
void one(measure::work &work) {
    const streaming::Variant &variant =
        *apps::find_variant(streaming::variants(), variants[static_cast<std::size_t>(work.parameter("variant"))]);
    thence_task_runtime_add(thence_flow_task_runtime());
    int ranks = 1;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    streaming::Settings settings;
    settings.size = 1 << 15;
    settings.chunks = chunks;
    settings.work = 40;
    settings.verify = true;
    streaming::Stage stage(settings, work.rank(), ranks);
    apps::ProgressBar bar(false, "", 1);
    // One recorder for all runs: threads of tasks outlive a run, and remember theirs.
    apps::Recorder recorder(0);
    const auto compute_seconds = [&] {
        double all = 0;
        for (const apps::Lane *lane : recorder.lanes()) {
            all += 1e-9 * static_cast<double>(lane->total[static_cast<int>(apps::Activity::compute)]);
        }
        return all;
    };
    streaming::Run run{MPI_COMM_WORLD, stage, 1, recorder, bar};
    double computed = 0;
    if (variant.prepare != nullptr) {
        variant.prepare(run);
    }
    const int rounds = work.quick() ? 3 : 7;
    measure::alternate(work, blocks.size(), rounds, 1, [&](std::size_t b) {
        settings.block = blocks[b];
        const double before = compute_seconds();
        MPI_Barrier(MPI_COMM_WORLD);
        const double begin = MPI_Wtime();
        variant.solve(run);
        double seconds = MPI_Wtime() - begin;
        if (const std::string wrong = stage.check(); !wrong.empty()) {
            std::fprintf(stderr, "streaming: rank %d: %s: %s\n", work.rank(), variant.name, wrong.c_str());
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
        MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        double busy = compute_seconds() - before;
        MPI_Allreduce(MPI_IN_PLACE, &busy, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        computed = computed > 0 ? std::min(computed, busy) : busy;
        return seconds;
    });
    work.result("computed", computed);
    if (variant.release != nullptr) {
        variant.release(run);
    }
}

void compare(measure::session &session, const std::string &delay) {
    std::vector<measure::numbers> launches(session.quick() ? 1 : 5);
    double computed = 0;
    for (measure::numbers &all : launches) {
        for (std::size_t v = 0; v < variants.size(); ++v) {
            const measure::numbers found =
                session.on_two_hosts(delay, {.work = "one",
                                             .threads = v == mpi ? measure::level::single : measure::level::multiple,
                                             .parameters = {{"variant", static_cast<long>(v)}}});
            for (std::size_t b = 0; b < blocks.size(); ++b) {
                all["seconds_" + std::to_string(contender_of(v, b))] = found.at("seconds_" + std::to_string(b));
            }
            const double least = found.at("computed");
            computed = computed > 0 ? std::min(computed, least) : least;
        }
    }
    const measure::contest runs = measure::contest::of_launches(contenders(), launches);
    for (measure::figure &found : figures_of(runs, computed, chunks, ", two hosts, delay " + delay)) {
        session.add(std::move(found));
    }
}

void judge(measure::session &session) {
    if (const std::string why = session.why_no_two_hosts(); !why.empty()) {
        session.skip("two hosts on this machine are not possible: " + why);
        return;
    }
    compare(session, "50us");
}

} // namespace

int main(int argc, char **argv) {
    return measure::main(
        argc, argv,
        {.name = "streaming",
         .about =
             "a pipeline of chunks between two hosts: tasks that write blocks with notifications, compared with tasks "
             "that send them and with MPI only",
         .bars = "TAGASPI at least 1.2 times the speed of TAMPI at small blocks, and 0.95 times that of MPI only where "
                 "each is best",
         .pieces = {{"one", one}},
         .judge = judge});
}
