// SPDX-License-Identifier: BSD-3-Clause
// Fork-join: the sequence in its order. Before each step its messages, by blocking calls; then the tasks of the step,
// which are independent, in a parallel loop.
#include "run.hpp"

#include "common/check.hpp"

namespace qr {
namespace {

void factorize(Run &run) {
    const Sequence &s = run.sequence;
    auto next = s.transfers.begin();
    for (std::size_t begin = 0; begin < s.tasks.size();) {
        std::size_t end = begin;
        std::vector<const Task *> mine;
        for (; end < s.tasks.size() && s.tasks[end].step == s.tasks[begin].step; ++end) {
            if (s.tasks[end].rank == run.rank) {
                mine.push_back(&s.tasks[end]);
            }
        }
        for (; next != s.transfers.end() && next->before < static_cast<int>(end); ++next) {
            const int count = static_cast<int>(s.bytes(next->block) / sizeof(double));
            if (next->from == run.rank) {
                const apps::Timed waits(run.recorder, apps::Activity::wait);
                apps::check(MPI_Send(run.blocks.at(next->block), count, MPI_DOUBLE, next->to, 0, run.comm));
            } else if (next->to == run.rank) {
                const apps::Timed waits(run.recorder, apps::Activity::wait);
                apps::check(MPI_Recv(run.blocks.at(next->block), count, MPI_DOUBLE, next->from, 0, run.comm,
                                     MPI_STATUS_IGNORE));
            }
        }
#pragma omp parallel for schedule(dynamic) num_threads(run.threads)
        for (std::size_t i = 0; i < mine.size(); ++i) {
            run.compute(*mine[i]);
        }
        begin = end;
    }
}

} // namespace

void solve_forkjoin(Run &run) {
    run.time([&] { factorize(run); });
}

} // namespace qr
