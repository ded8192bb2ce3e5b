// SPDX-License-Identifier: BSD-3-Clause
// The tiled QR factorization of apps/qr: active messages compared with the same tasks on an engine on MPI_Testsome, the best of
// several windows, and with fork-join. The variants alternate in one process.
#include "measure/alternate.hpp"
#include "measure/benchmark.hpp"

#include "qr/run.hpp"

#include <algorithm>
#include <array>

namespace {

constexpr std::array windows{16, 64, 256};

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
    measure::alternate(work, 2 + windows.size(), work.quick() ? 3 : 9, 1, [&](std::size_t contender) {
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
        if (contender == 0) {
            qr::solve_messages(run);
        } else if (contender == 1) {
            qr::solve_forkjoin(run);
        } else {
            qr::solve_reference(run);
        }
        double slowest = 0;
        MPI_Allreduce(&run.seconds, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        return slowest;
    });
}

void judge_one(measure::session &session, const std::string &where, bool messages, const auto &launch) {
    std::vector<double> over_reference;
    std::vector<double> over_forkjoin;
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
    }
    const auto add = [&](const std::string &against, const std::vector<double> &ratios, double bar, double baseline) {
        session.add({.name = where + ", compared with " + against,
                     .found = measure::median_of(ratios),
                     .unit = "times the speed",
                     .kind = measure::bar_kind::at_least,
                     .bar = bar,
                     .against = against,
                     .side_unit = "s",
                     .ours = found.at("seconds_0"),
                     .baseline = baseline});
    };
    if (messages) {
        add("the reference engine, best window", over_reference, 1.05, reference);
    }
    add("fork-join", over_forkjoin, 1.1, found.at("seconds_1"));
}

void judge(measure::session &session) {
    judge_one(session, "2 ranks x 1 thread", true, [&] {
        return session.together(2, {.work = "factorize", .parameters = {{"threads", 1}}});
    });
    judge_one(session, "1 rank x 2 threads", false, [&] {
        return session.together(1, {.work = "factorize", .parameters = {{"threads", 2}}, .threads_per_rank = 2});
    });
    if (session.why_no_two_hosts().empty()) {
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
