// SPDX-License-Identifier: BSD-3-Clause
// The tiled QR factorization of apps/qr: active messages compared with the same tasks on an engine on MPI_Testsome, the
// best of several windows, and with fork-join. The variants alternate in one process. The limit is the time that the
// slowest rank spends in the kernels, in the variant that spends least.
#include "measure/alternate.hpp"
#include "measure/benchmark.hpp"
#include "measure/limit.hpp"

#include "qr/run.hpp"

#include <algorithm>
#include <array>

namespace {

constexpr std::array windows{16, 64, 256};

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
    std::vector<std::vector<double>> computing(2 + windows.size());
    measure::alternate(work, computing.size(), work.quick() ? 3 : 9, 1, [&](std::size_t contender) {
        qr::Blocks blocks(sequence, work.rank());
        apps::ProgressBar bar(false, "", 1);
        const int window = contender < 2 ? windows[0] : windows[contender - 2];
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
        if (contender == 0) {
            qr::solve_messages(run);
        } else if (contender == 1) {
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
    double least = measure::median_of(computing[0]).value;
    for (const std::vector<double> &each : computing) {
        least = std::min(least, measure::median_of(each).value);
    }
    work.result("computing", least);
}

void judge_one(measure::session &session, const std::string &where, bool messages, const auto &launch) {
    std::vector<double> over_reference;
    std::vector<double> over_forkjoin;
    std::vector<double> reference_limits;
    std::vector<double> forkjoin_limits;
    measure::numbers found;
    double reference = 0;
    for (int i = session.quick() ? 1 : 3; i > 0; --i) {
        found = launch();
        reference = found.at("seconds_2");
        for (std::size_t w = 1; w < windows.size(); ++w) {
            reference = std::min(reference, found.at("seconds_" + std::to_string(w + 2)));
        }
        over_reference.push_back(reference / found.at("seconds_0"));
        over_forkjoin.push_back(found.at("seconds_1") / found.at("seconds_0"));
        reference_limits.push_back(reference / found.at("computing"));
        forkjoin_limits.push_back(found.at("seconds_1") / found.at("computing"));
    }
    const auto add = [&](const std::string &against, const std::vector<double> &ratios,
                         const std::vector<double> &limits, double bar, double baseline) {
        measure::figure figure{.name = where + ", compared with " + against,
                               .found = measure::median_of(ratios),
                               .unit = "times the speed",
                               .kind = measure::bar_kind::at_least,
                               .bar = bar,
                               .against = against,
                               .side_unit = "s",
                               .ours = found.at("seconds_0"),
                               .baseline = baseline};
        measure::add_limit(figure, {.what = "computation alone, without messages, waiting and tasks",
                                    .value = measure::median_of(limits).value});
        session.add(figure);
    };
    if (messages) {
        add("the reference engine, best window", over_reference, reference_limits, 1.05, reference);
    }
    add("fork-join", over_forkjoin, forkjoin_limits, 1.1, found.at("seconds_1"));
}

void judge(measure::session &session) {
    judge_one(session, "2 ranks x 1 thread", true, [&] {
        return session.together(2, {.work = "factorize", .parameters = {{"threads", 1}}});
    });
    judge_one(session, "1 rank x 2 threads", false, [&] {
        return session.together(1, {.work = "factorize", .parameters = {{"threads", 2}}, .threads_per_rank = 2});
    });
    if (const std::string why = session.why_no_two_hosts(); !why.empty()) {
        session.skip("two hosts with a delay of 300 us: not measured, it " + why);
    } else {
        judge_one(session, "2 hosts, 300 us", true, [&] {
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
         .bars = "at least 1.05 times the speed of the engine, 1.1 times that of fork-join",
         .pieces = {{"factorize", factorize}},
         .judge = judge});
}
