// SPDX-License-Identifier: BSD-3-Clause
// Prints one run as a line of a table and as JSON. Shares of time are fractions of ranks x threads x wall clock; idle
// is the rest.
#include "json.hpp"
#include "outcome.hpp"

#include <cstdio>
#include <thence/thence.h>

namespace heat {
namespace {

struct Shares {
    double compute = 0, mpi = 0, poll = 0, idle = 0; // fractions of the time of all threads
};

Shares shares(const Run &run, const Outcome &outcome) {
    Shares s;
    const double all = outcome.time * run.ranks * run.threads;
    for (const RankTimes &r : outcome.ranks) {
        s.compute += r.compute / all;
        s.mpi += (r.start + r.wait) / all;
        s.poll += r.poll / all;
    }
    s.idle = std::max(0.0, 1 - s.compute - s.mpi - s.poll);
    return s;
}

double updates_per_second(const Config &c, double time) {
    return static_cast<double>(c.rows) * c.cols * c.iterations / time;
}

const char *verdict_name(Comparison::Verdict v) {
    return v == Comparison::identical ? "identical" : v == Comparison::differs ? "DIFFERS" : "unchecked";
}

} // namespace

std::vector<RankTimes> gather_times(const Run &run) {
    RankTimes mine{};
    const auto seconds = [](const Lane *l, Activity a) {
        return static_cast<double>(l->total[static_cast<int>(a)]) * 1e-9;
    };
    for (const Lane *l : run.recorder.lanes()) {
        mine.compute += seconds(l, Activity::compute);
        mine.start += seconds(l, Activity::start);
        mine.wait += seconds(l, Activity::wait);
        mine.poll += seconds(l, Activity::poll);
        mine.messages += static_cast<double>(l->messages_sent);
        mine.cells += static_cast<double>(l->cells_sent);
        mine.dropped += static_cast<double>(l->dropped);
        mine.threads += 1;
    }
    std::vector<RankTimes> all(run.rank == 0 ? static_cast<std::size_t>(run.ranks) : 0);
    constexpr int doubles = sizeof(RankTimes) / sizeof(double);
    MPI_Gather(&mine, doubles, MPI_DOUBLE, all.data(), doubles, MPI_DOUBLE, 0, run.comm);
    return all;
}

ContinuationCounts gather_continuations(const Run &run) {
    thence_info info{};
    thence_stats_info stats{};
    thence_query(&info, sizeof info);
    thence_stats_query(&stats, sizeof stats);
    const unsigned long long mine[3] = {stats.attached, stats.immediate, stats.polls};
    unsigned long long all[3] = {};
    MPI_Reduce(mine, all, 3, MPI_UNSIGNED_LONG_LONG, MPI_SUM, 0, run.comm);
    return {info.engine, info.engine_why, info.hook, all[0], all[1], all[2]};
}

void print_table(const Run &run, const Options &options, const Config &config, const Outcome &outcome) {
    const Shares s = shares(run, outcome);
    char speedup[32] = "-";
    if (outcome.comparison.serial_time > 0)
        std::snprintf(speedup, sizeof speedup, "%.2f", outcome.comparison.serial_time / outcome.time);
    std::printf("%-10s %15s %9s %11s %9s %9s %7s %7s %7s  %s\n", "variant", "ranks x threads", "time s", "Mupdates/s",
                "vs serial", "compute %", "MPI %", "poll %", "idle %", "field");
    std::printf("%-10s %11d x %-3d %7.3f %11.1f %9s %9.1f %7.1f %7.1f %7.1f  %s\n", options.variant->name, run.ranks,
                run.threads, outcome.time, updates_per_second(config, outcome.time) * 1e-6, speedup, 100 * s.compute,
                100 * s.mpi, 100 * s.poll, 100 * s.idle, verdict_name(outcome.comparison.verdict));
    if (!outcome.comparison.text.empty())
        std::printf("field: %s\n", outcome.comparison.text.c_str());
    if (const auto &c = outcome.continuations)
        std::printf("continuations: %llu ran, %llu operations were complete when attached; engine %s, hook %s\n",
                    c->attached, c->immediate, c->engine.c_str(), c->hook.c_str());
    double dropped = 0;
    for (const RankTimes &r : outcome.ranks)
        dropped += r.dropped;
    if (dropped > 0 && !options.timeline.empty())
        std::printf("timeline: %.0f intervals and messages were not recorded; raise --timeline-capacity\n", dropped);
    std::fflush(stdout);
}

void write_json(const Run &run, const Options &options, const Config &config, const Outcome &outcome) {
    char library[MPI_MAX_LIBRARY_VERSION_STRING];
    int length = 0;
    MPI_Get_library_version(library, &length);
    std::string_view version(library, static_cast<std::size_t>(length));
    version = version.substr(0, version.find_first_of("\n,"));

    const Shares s = shares(run, outcome);
    JsonWriter json(options.json);
    json.member("variant", options.variant->name).member("ranks", run.ranks).member("threads", run.threads);
    json.line().member("config", options.config).member("rows", config.rows).member("cols", config.cols);
    json.member("iterations", config.iterations).member("block", config.block);
    json.line().member("mpi", version);
    json.line().member("time_s", outcome.time).member("updates_per_s", updates_per_second(config, outcome.time));
    json.line().key("share_of_thread_time").open('{').member("compute", s.compute).member("mpi", s.mpi);
    json.member("poll", s.poll).member("idle", s.idle).close('}');
    json.line().key("ranks_detail").open('[');
    for (const RankTimes &r : outcome.ranks) {
        json.line()
            .open('{')
            .member("compute_s", r.compute)
            .member("mpi_start_s", r.start)
            .member("mpi_wait_s", r.wait);
        json.member("poll_s", r.poll).member("messages_sent", r.messages).member("cells_sent", r.cells);
        json.member("threads_seen", r.threads).member("not_recorded", r.dropped).close('}');
    }
    json.close(']');
    if (const auto &c = outcome.continuations) {
        json.line().key("thence").open('{').member("engine", c->engine).member("engine_why", c->engine_why);
        json.member("hook", c->hook).member("attached", c->attached).member("immediate", c->immediate);
        json.member("polls", c->polls).close('}');
    }
    json.line().key("field").open('{').member("verdict", verdict_name(outcome.comparison.verdict));
    json.member("against", outcome.comparison.against).member("text", outcome.comparison.text).close('}');
    if (outcome.comparison.serial_time > 0)
        json.line().member("serial_time_s", outcome.comparison.serial_time);
    json.finish();
}

} // namespace heat
