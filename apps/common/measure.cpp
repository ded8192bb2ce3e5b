// SPDX-License-Identifier: BSD-3-Clause
#include "measure.hpp"

#include <algorithm>
#include <cstdio>
#include <string_view>
#include <thence/thence.h>

namespace apps {
namespace {

RankTimes sum(const Recorder &recorder) {
    RankTimes mine{};
    const auto seconds = [](const Lane *l, Activity a) {
        return static_cast<double>(l->total[static_cast<int>(a)]) * 1e-9;
    };
    for (const Lane *l : recorder.lanes()) {
        mine.compute += seconds(l, Activity::compute);
        mine.start += seconds(l, Activity::start);
        mine.wait += seconds(l, Activity::wait);
        mine.poll += seconds(l, Activity::poll);
        mine.messages += static_cast<double>(l->messages_sent);
        mine.cells += static_cast<double>(l->cells_sent);
        mine.dropped += static_cast<double>(l->dropped);
        mine.threads += 1;
    }
    return mine;
}

ContinuationCounts sum_continuations(MPI_Comm comm) {
    thence_info info{};
    thence_stats_info stats{};
    thence_query(&info, sizeof info);
    thence_stats_query(&stats, sizeof stats);
    const unsigned long long mine[3] = {stats.attached, stats.immediate, stats.polls};
    unsigned long long all[3] = {};
    MPI_Reduce(mine, all, 3, MPI_UNSIGNED_LONG_LONG, MPI_SUM, 0, comm);
    return {info.engine, info.engine_why, info.hook, all[0], all[1], all[2]};
}

} // namespace

Shares Measured::shares() const {
    Shares s;
    const double all = time * ranks * threads;
    for (const RankTimes &r : each) {
        s.compute += r.compute / all;
        s.mpi += (r.start + r.wait) / all;
        s.poll += r.poll / all;
    }
    s.idle = std::max(0.0, 1 - s.compute - s.mpi - s.poll);
    return s;
}

double Measured::dropped() const {
    double all = 0;
    for (const RankTimes &r : each) {
        all += r.dropped;
    }
    return all;
}

Measured gather(const Recorder &recorder, MPI_Comm comm, int threads, double seconds, bool continuations) {
    Measured out;
    int rank;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &out.ranks);
    out.threads = threads;
    MPI_Reduce(&seconds, &out.time, 1, MPI_DOUBLE, MPI_MAX, 0, comm);
    const RankTimes mine = sum(recorder);
    out.each.resize(rank == 0 ? static_cast<std::size_t>(out.ranks) : 0);
    constexpr int doubles = sizeof(RankTimes) / sizeof(double);
    MPI_Gather(&mine, doubles, MPI_DOUBLE, out.each.data(), doubles, MPI_DOUBLE, 0, comm);
    if (continuations) {
        out.continuations = sum_continuations(comm);
    }
    return out;
}

void print_notes(const Measured &measured, bool timeline) {
    if (const auto &c = measured.continuations) {
        std::printf("continuations: %llu ran, %llu operations were complete when attached; engine %s, hook %s\n",
                    c->attached, c->immediate, c->engine.c_str(), c->hook.c_str());
    }
    if (measured.dropped() > 0 && timeline) {
        std::printf("timeline: %.0f intervals and messages were not recorded; raise --timeline-capacity\n",
                    measured.dropped());
    }
    std::fflush(stdout);
}

Json times_json(const Measured &measured) {
    const Shares s = measured.shares();
    return {{"compute", s.compute}, {"mpi", s.mpi}, {"poll", s.poll}, {"idle", s.idle}};
}

Json ranks_json(const Measured &measured) {
    Json all = Json::array();
    for (const RankTimes &r : measured.each) {
        all.push_back({{"compute_s", r.compute},
                       {"mpi_start_s", r.start},
                       {"mpi_wait_s", r.wait},
                       {"poll_s", r.poll},
                       {"messages_sent", r.messages},
                       {"cells_sent", r.cells},
                       {"threads_seen", r.threads},
                       {"not_recorded", r.dropped}});
    }
    return all;
}

Json continuations_json(const ContinuationCounts &counts) {
    return {{"engine", counts.engine},     {"engine_why", counts.engine_why}, {"hook", counts.hook},
            {"attached", counts.attached}, {"immediate", counts.immediate},   {"polls", counts.polls}};
}

std::string mpi_name() {
    char library[MPI_MAX_LIBRARY_VERSION_STRING];
    int length = 0;
    MPI_Get_library_version(library, &length);
    const std::string_view version(library, static_cast<std::size_t>(length));
    return std::string(version.substr(0, version.find_first_of("\n,")));
}

} // namespace apps
