// SPDX-License-Identifier: BSD-3-Clause
// The tiled QR factorization of apps/qr: active messages compared with the same tasks on an engine on MPI_Testsome, the
// best of several windows, and with fork-join. The variants alternate in one process. The limit is the time that the
// slowest rank spends in the kernels, in the variant that spends least.
#include "judges/qr.hpp"
#include "measure/alternate.hpp"
#include "measure/benchmark.hpp"

#include "qr/run.hpp"

#include <algorithm>

namespace {

using namespace measure::qr_runs;

// In kernels since the recorder exists, of all threads.
double computed(const apps::Recorder &recorder) {
    apps::Nanoseconds sum = 0;
    for (const apps::Lane *lane : recorder.lanes()) {
        sum += lane->total[static_cast<int>(apps::Activity::compute)];
    }
    return static_cast<double>(sum) * 1e-9;
}

void factorize(measure::work &work) {
    int ranks = 1;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    qr::one_thread_per_kernel();
    qr::Shape shape;
    shape.rows = shape.columns = work.quick() ? 768 : 1536;
    shape.tile = 96;
    shape.grid_rows = ranks;
    const qr::Sequence sequence(shape, qr::Tree::binary);
    apps::Recorder recorder(0); // one for all, since threads that live on remember theirs
    std::vector<std::vector<double>> computing(contenders);
    measure::alternate(work, computing.size(), work.quick() ? 3 : 9, 1, [&](std::size_t contender) {
        qr::Blocks blocks(sequence, work.rank());
        apps::ProgressBar bar(false, "", 1);
        const int window = contender < first_reference ? windows[0] : windows[contender - first_reference];
        qr::Run run{MPI_COMM_WORLD,
                    work.rank(),
                    static_cast<int>(work.parameter("threads")),
                    sequence,
                    blocks,
                    recorder,
                    bar,
                    window,
                    8};
        const double before = computed(recorder);
        if (contender == messages) {
            qr::solve_messages(run);
        } else if (contender == fork_join) {
            qr::solve_forkjoin(run);
        } else {
            qr::solve_reference(run);
        }
        const double mine[2] = {run.seconds, (computed(recorder) - before) / run.threads};
        double slowest[2] = {};
        MPI_Allreduce(mine, slowest, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        computing[contender].push_back(slowest[1]);
        return slowest[0];
    });
    double least = measure::median_of(computing[messages]).value;
    for (const std::vector<double> &each : computing) {
        least = std::min(least, measure::median_of(each).value);
    }
    work.result("compute_seconds", least);
}

void judge_one(measure::session &session, const measure::qr_runs::situation &in, const auto &launch) {
    std::vector<measure::numbers> launches;
    for (int i = session.quick() ? 1 : 3; i > 0; --i) {
        launches.push_back(launch());
    }
    for (measure::figure &each : figures_of(launches, in)) {
        session.add(std::move(each));
    }
}

void judge(measure::session &session) {
    judge_one(session, {.where = "2 ranks x 1 thread", .bar = 1.05}, [&] {
        return session.together(2, {.work = "factorize", .parameters = {{"threads", 1}}});
    });
    judge_one(session, {.where = "1 rank x 2 threads", .bar = 1.05, .has_messages = false}, [&] {
        return session.together(1, {.work = "factorize", .parameters = {{"threads", 2}}, .threads_per_rank = 2});
    });
    if (const std::string why = session.why_no_two_hosts(); !why.empty()) {
        session.skip("two hosts with a delay of 300 us: not measured, it " + why);
    } else {
        judge_one(session, {.where = "2 hosts, 300 us", .bar = 1.1}, [&] {
            return session.on_two_hosts("300us", {.work = "factorize", .parameters = {{"threads", 1}}});
        });
    }
}

} // namespace

int main(int argc, char **argv) {
    return measure::main(
        argc, argv,
        {.name = "qr",
         .about = "tiled QR factorization with active messages, compared with an engine on MPI_Testsome and "
                  "with fork-join",
         .bars = "at least 1.05 times the speed of the engine and of fork-join; with a delay of 300 us 1.1 times",
         .pieces = {{"factorize", factorize}},
         .judge = judge});
}
