// SPDX-License-Identifier: BSD-3-Clause
// latency_mt: reads the command line, measures one variant for all sizes of messages, and reports.
#include "variants.hpp"

#include "common/measure.hpp"
#include "common/options.hpp"
#include "common/program.hpp"

#include <cstdio>

namespace latency_mt {
namespace {

struct Options : apps::CommonOptions {
    int in_flight = 8, smallest = 1, largest = 1 << 20, rounds = 1000;
    double compute = 0;
    Variant chosen{};
};

bool parse_options(Options &o, int argc, char **argv, int &status) {
    CLI::App app("latency_mt: the latency of messages between two ranks when many are in flight, each waited for by a\n"
                 "fiber or a thread of its own, as osu_latency_mt of the OSU benchmarks. Every message is checked.",
                 "latency_mt");
    app.get_formatter()->column_width(34);
    o.variant = "threads";
    o.threads = 1;
    apps::add_variant_option(app, o, "What waits for a message", variants());
    app.add_option("-n,--in-flight", o.in_flight, "Messages in flight, and fibers or threads per rank [8]")
        ->check(CLI::Range(1, 1024));
    app.add_option("--smallest", o.smallest, "Bytes of the smallest message [1]")->check(CLI::Range(1, 1 << 26));
    app.add_option("--largest", o.largest, "Bytes of the largest message; each size is twice the one before [1048576]")
        ->check(CLI::Range(1, 1 << 26));
    app.add_option("-r,--rounds", o.rounds,
                   "Round trips of each message; above 8 KiB a tenth of them, at least 10 [1000]")
        ->check(CLI::Range(1, 1 << 24));
    app.add_option(
           "-c,--compute", o.compute,
           "Microseconds of processor time that a lane computes between the message it receives and the next it\n"
           "sends; a lane is one of the messages in flight, they are numbered from 0 [0]")
        ->check(CLI::Range(0.0, 1e6));
    app.add_option("-t,--threads", o.threads,
                   "Worker threads of a rank that share the lanes, for fibers and user-level threads [1]")
        ->check(CLI::Range(1, 256));
    apps::add_imbalance_option(app, o, {"rank", "lanes"});
    apps::add_json_option(app, o);
    apps::add_progress_option(app, o);
    app.footer("\n" + apps::variant_list(variants()) +
               "\nExamples:\n"
               "  mpirun -n 2 latency_mt --variant threads --json threads.json\n"
               "  mpirun -n 2 latency_mt --variant fibers --in-flight 8 --json fibers.json\n"
               "  mpirun -n 2 latency_mt --variant threads --compute 10 --imbalance 20@lanes:0\n"
               "  mpirun -n 2 --bind-to none latency_mt --variant fibers --threads 4\n"
               "  plot.py threads.json fibers.json -o latency.png\n"
               "\nExit status: 0 done, 1 failure, 2 wrong usage, 3 a byte of a message is wrong.");
    const auto check = [&] {
        o.chosen = *apps::find_variant(variants(), o.variant);
        if (o.threads > 1 && !o.chosen.has_workers) {
            throw CLI::ValidationError("--threads",
                                       "the variant " + o.variant +
                                           " has no worker threads; leave it out, or use --variant fibers");
        }
        if (o.threads > o.in_flight) {
            throw CLI::ValidationError("--threads", std::to_string(o.threads) + " are more than the " +
                                                        std::to_string(o.in_flight) + " messages of --in-flight");
        }
        if (o.smallest > o.largest) {
            throw CLI::ValidationError("--smallest", std::to_string(o.smallest) + " is more than --largest " +
                                                         std::to_string(o.largest));
        }
        if (o.imbalance && o.compute == 0) {
            throw CLI::ValidationError("--imbalance", "'" + o.imbalance->text +
                                                          "' multiplies the time of --compute, which is 0; add for " +
                                                          "example --compute 10");
        }
    };
    if (!apps::parse(app, argc, argv, check, status)) {
        return false;
    }
    if (o.threads > 1) {
        o.chosen.thread_level = MPI_THREAD_MULTIPLE;
    }
    return true;
}

void report(const Options &o, const std::vector<int> &sizes, const std::vector<Latency> &latencies,
            const std::string &wrong) {
    const bool others = latencies.front().others.has_value();
    std::printf("%s, %d in flight, ", o.chosen.name, o.in_flight);
    if (o.threads > 1) {
        std::printf("%d threads per rank, ", o.threads);
    }
    if (o.compute > 0) {
        std::printf("computing %g us, ", o.compute);
    }
    if (o.imbalance) {
        std::printf("%s, ", o.imbalance->text.c_str());
    }
    std::printf("contents %s\n%10s %12s%s\n", wrong.empty() ? "right" : "WRONG", "bytes", "latency us",
                others ? "  other lanes us" : "");
    apps::Json rows = apps::Json::array();
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        const Latency &found = latencies[i];
        std::printf("%10d %12.3f", sizes[i], found.microseconds);
        rows.push_back({{"bytes", sizes[i]}, {"latency_us", found.microseconds}});
        if (others) {
            std::printf(" %15.3f", *found.others);
            rows.back()["other_lanes_us"] = *found.others;
        }
        std::printf("\n");
    }
    std::fflush(stdout);
    if (o.json.empty()) {
        return;
    }
    apps::Json json{{"variant", o.chosen.name},
                    {"in_flight", o.in_flight},
                    {"threads", o.threads},
                    {"rounds", o.rounds},
                    {"compute_us", o.compute},
                    {"mpi", apps::mpi_name()},
                    {"contents", wrong.empty() ? "right" : wrong},
                    {"latencies", rows}};
    if (o.imbalance) {
        json["imbalance"] = o.imbalance->text;
    }
    apps::write_json_file(o.json, json);
}

int run_variant(const Options &o, MPI_Comm comm) {
    int rank, ranks;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    if (ranks != 2) {
        throw apps::InputError("needs 2 ranks and has " + std::to_string(ranks) + "; start it with mpirun -n 2");
    }
    apps::check_imbalance(o.imbalance, ranks, o.in_flight);
    apps::check_outputs(comm, {o.json});
    std::vector<int> sizes;
    for (long bytes = o.smallest; bytes <= o.largest; bytes *= 2) {
        sizes.push_back(static_cast<int>(bytes));
    }
    apps::ProgressBar bar(apps::draws_bar(o.progress, rank), o.chosen.name, static_cast<int>(sizes.size()), "sizes");
    std::vector<Latency> latencies;
    std::string wrong;
    for (const int bytes : sizes) {
        const int rounds = bytes > 8192 ? std::min(o.rounds, std::max(10, o.rounds / 10)) : o.rounds;
        latencies.push_back(
            measure_latency(o.chosen, comm, rank, o.in_flight, bytes, rounds, {o.compute, o.imbalance}, o.threads));
        if (wrong.empty()) {
            wrong = latencies.back().wrong;
        }
        bar.show(static_cast<int>(latencies.size()));
    }
    bar.clear();
    const std::string first_wrong = apps::first_wrong("latency_mt", wrong, comm);
    if (rank == 0) {
        report(o, sizes, latencies, first_wrong);
    }
    return first_wrong.empty() ? apps::success : apps::wrong_result;
}

} // namespace
} // namespace latency_mt

int main(int argc, char **argv) {
    int status = apps::success;
    latency_mt::Options options;
    if (!latency_mt::parse_options(options, argc, argv, status)) {
        return status;
    }
    return apps::run_with_mpi("latency_mt", options.chosen, "fibers",
                              [&](MPI_Comm comm) { return latency_mt::run_variant(options, comm); });
}
