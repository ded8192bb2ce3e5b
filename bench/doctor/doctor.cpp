// SPDX-License-Identifier: BSD-3-Clause
// The program thence-doctor, which `thence doctor` executes: a short test of this cluster, which says which switches of
// `thence run` pay here. It runs the work of benchmarks under the launcher, plain and with the switch.
#include "doctor/findings.hpp"
#include "measure/busy_processes.hpp"
#include "measure/process.hpp"
#include "measure/python.hpp"
#include "measure/session.hpp"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iostream>
#include <stdexcept>

namespace {

using doctor::both_ways;
using doctor::findings;
using doctor::overlap;

enum status { done = 0, wrong_usage = 2, not_measured = 3 };

// In the order of the parameter `operation` of the benchmark overlap.
constexpr std::array<const char *, 4> operations{"Isend/Irecv", "Ialltoall", "Iallreduce", "Rget"};
// With more processors than this, the ranks that are more than processors would be too many to start for a short test.
constexpr int most_processors = 32;

// A median of so many runs each, plain and with the switch.
constexpr int rounds = 3;

struct options {
    bool quick = false;
    std::string json;
    std::string plot;
    std::string mpiexec = THENCE_BENCH_MPIEXEC;
    std::vector<long> bytes;
};

// Says what is measured, of how many.
class examination {
public:
    examination(const options &chosen, measure::report &report)
        : session_(settings(chosen.quick, chosen), report), of_short_runs_(settings(true, chosen), report) {}

    // Adds a step, which is run by run_all(). Its runs are short if there are several that are compared.
    void plan(std::string what, std::function<void(measure::session &)> run, bool has_short_runs = false) {
        steps_.push_back({std::move(what), std::move(run), has_short_runs});
    }
    // What cannot be measured is said in `found`.
    void run_all(findings &found) {
        for (std::size_t i = 0; i < steps_.size(); ++i) {
            std::cerr << "[" << i + 1 << "/" << steps_.size() << "] " << steps_[i].what << '\n';
            try {
                steps_[i].run(steps_[i].has_short_runs ? of_short_runs_ : session_);
            } catch (const std::runtime_error &error) {
                const std::string all = error.what();
                found.not_measured.push_back(steps_[i].what + ": " + all.substr(0, all.find('\n')));
                std::cerr << "  not measured: " << all << '\n';
            }
        }
    }

private:
    struct step {
        std::string what;
        std::function<void(measure::session &)> run;
        bool has_short_runs;
    };
    static measure::session::settings settings(bool quick, const options &chosen) {
        return {quick,
                measure::words(chosen.mpiexec),
                measure::thence_command(),
                measure::own_folder(),
                measure::own_folder() + "/overlap",
                false};
    }

    measure::session session_;
    measure::session of_short_runs_;
    std::vector<step> steps_;
};

measure::numbers run_with_progress(measure::session &session, measure::job what, overlap &result) {
    what.run_options = {"--progress"};
    try {
        return session.together(2, what);
    } catch (const std::runtime_error &error) {
        doctor::failed_with_progress(result, error);
        throw;
    }
}

// Plain runs and runs with progress alternate, since what else a machine does changes with time. The medians are
// judged.
void examine_overlap(measure::session &session, int operation, findings &found, overlap &result) {
    measure::job what{
        .work = "one",
        .threads = measure::level::single,
        .parameters = {{"operation", operation}, {"bytes", result.bytes}, {"computation", 0}, {"piece", 0}},
        .program = "overlap",
        .limit = std::chrono::seconds(120)};
    result.failed = "the run failed"; // until it has not
    std::vector<double> alone;
    std::vector<double> plain_runs;
    std::vector<double> with_progress_runs;
    for (int round = 0; round < rounds; ++round) {
        const measure::numbers plain = session.together(2, what);
        what.parameters["computation"] = static_cast<long>(plain.at("computation") * 1e6); // of the first run
        const measure::numbers with = run_with_progress(session, what, result);
        if (plain.at("right") != 1 || with.at("right") != 1) {
            throw std::runtime_error("wrong values");
        }
        alone.push_back(plain.at("alone"));
        plain_runs.push_back(plain.at("together"));
        with_progress_runs.push_back(with.at("together"));
        result.computation = plain.at("computation");
        found.hosts = static_cast<int>(plain.at("hosts"));
        found.of_a_rank = static_cast<int>(plain.at("processors"));
    }
    result.alone = measure::median_of(alone).value;
    doctor::set_runs(result, plain_runs, with_progress_runs);
    result.failed.clear();
}

void examine_messages(measure::session &session, findings &found) {
    measure::job what{.work = "messages", .threads = measure::level::single, .program = "overlap_cost"};
    const measure::numbers plain = session.together(2, what);
    what.run_options = {"--progress"};
    const measure::numbers with = session.together(2, what);
    const measure::numbers multiple = session.together(2, {.work = "messages", .program = "overlap_cost"});
    found.round_trip_us = both_ways{plain.at("round_trip"), with.at("round_trip")};
    found.message_us = both_ways{plain.at("message"), with.at("message")};
    found.multiple_us = both_ways{plain.at("round_trip"), multiple.at("round_trip")};
}

void examine_waiting(measure::session &session, findings &found) {
    measure::job what{.work = "waits",
                      .threads = measure::level::single,
                      .parameters = {{"milliseconds", session.quick() ? 1000 : 5000}},
                      .program = "idle_waiter"};
    const measure::numbers plain = session.together(2, what);
    what.run_options = {"--wait=sleep"};
    const measure::numbers with = session.together(2, what);
    found.waiting_share = both_ways{plain.at("share"), with.at("share")};
    if (plain.contains("late") && with.contains("late")) { // the ranks ran on one host
        found.late_us = both_ways{plain.at("late"), with.at("late")};
    }
}

void examine_oversubscribed(measure::session &session, findings &found) {
    const int ranks = 2 * found.all_processors();
    measure::job what{
        .work = "calls", .threads = measure::level::single, .program = "oversubscribed", .as_mpi_waits = true};
    const measure::numbers plain = session.together(ranks, what);
    what.run_options = {"--wait=sleep"};
    const measure::numbers with = session.together(ranks, what);
    found.oversubscribed_ranks = ranks;
    found.barrier_us = both_ways{plain.at("barrier"), with.at("barrier")};
}

findings examine(const options &chosen) {
    findings found;
    found.processors = measure::processors();
    std::vector<long> sizes = chosen.bytes;
    if (sizes.empty()) {
        sizes = chosen.quick ? std::vector<long>{1 << 20, 4 << 20}
                             : std::vector<long>{64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20};
    }
    for (const char *operation : operations) {
        for (const long bytes : sizes) {
            overlap planned;
            planned.operation = operation;
            planned.bytes = bytes;
            found.overlaps.push_back(planned);
        }
    }
    measure::report unused;
    examination all(chosen, unused);
    for (std::size_t i = 0; i < found.overlaps.size(); ++i) {
        overlap &each = found.overlaps[i];
        const int operation = static_cast<int>(i / sizes.size());
        all.plan(
            each.operation + " of " + std::to_string(each.bytes / 1024) + " KiB beside computation",
            [&found, &each, operation](auto &session) { examine_overlap(session, operation, found, each); }, true);
    }
    all.plan("short messages", [&found](auto &session) { examine_messages(session, found); });
    all.plan("a rank that waits", [&found](auto &session) { examine_waiting(session, found); });
    if (found.processors <= most_processors) {
        all.plan("more ranks than processors", [&found](auto &session) { examine_oversubscribed(session, found); });
    } else {
        found.not_measured.emplace_back("more ranks than processors: this machine has too many for a short test");
    }
    all.run_all(found);
    return found;
}

void print(const findings &found) {
    std::cout << "\n  transfer beside computation         alone      plain  --progress   hidden, plain and with\n";
    for (const overlap &each : found.overlaps) {
        if (each.failed.empty()) {
            std::array<char, 200> line{};
            std::snprintf(line.data(), line.size(), "  %-12s %8ld KiB %10.3f ms %7.3f ms %8.3f ms %8.2f %8.2f\n",
                          each.operation.c_str(), each.bytes / 1024, each.alone, each.plain, each.with_progress,
                          each.hidden(each.plain), each.hidden(each.with_progress));
            std::cout << line.data();
        }
    }
    std::cout << '\n';
    const doctor::advice given = advise(found);
    for (const std::string &sentence : given.sentences) {
        std::cout << "- " << sentence << '\n';
    }
    for (const std::string &each : found.not_measured) {
        std::cout << "- Not measured: " << each << '\n';
    }
    std::cout << (given.switches.empty() ? "No switch of thence run pays here.\n" : "What pays here:\n");
    for (const std::string &each : given.switches) {
        std::cout << "    thence run " << each << '\n';
    }
}

bool draw(const std::string &python, const std::string &json, const std::string &picture) {
    const measure::outcome result = measure::run_program(
        {python, measure::own_folder() + "/doctor_plot.py", json, picture}, {}, std::chrono::seconds(120));
    std::cerr << result.errors;
    return result.exit_code == 0;
}

int run(const options &chosen) {
    for (const char *set_by_launchers : {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"}) {
        if (std::getenv(set_by_launchers) != nullptr) {
            std::cerr << "thence doctor: it starts the launcher itself: run it without one, and name the launcher with "
                         "its options by --mpiexec\n";
            return wrong_usage;
        }
    }
    const std::string python = chosen.plot.empty() ? std::string() : measure::python_with_matplotlib();
    if (!chosen.plot.empty() && python.empty()) {
        std::cerr << "thence doctor: --plot needs Python with matplotlib (Debian: apt install python3-matplotlib)\n";
        return not_measured;
    }
    const std::string json = !chosen.json.empty() || chosen.plot.empty() ? chosen.json : chosen.plot + ".json";
    if (!json.empty() && !std::ofstream(json, std::ios::app)) { // before anything is measured
        std::cerr << "thence doctor: cannot write " << json << '\n';
        return not_measured;
    }
    const findings found = examine(chosen);
    print(found);
    if (!json.empty()) {
        std::ofstream out(json);
        out << nlohmann::json(found).dump(2, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
        out.close();
        if (!out) {
            std::cerr << "thence doctor: cannot write " << json << '\n';
            return not_measured;
        }
    }
    if (!chosen.plot.empty() && !draw(python, json, chosen.plot)) {
        return not_measured;
    }
    return found.not_measured.empty() ? done : not_measured;
}

} // namespace

int main(int argc, char **argv) {
    options chosen;
    CLI::App app("test this cluster, and say which switches of thence run pay here", "thence doctor");
    app.footer("It starts some dozens of short jobs, most of two ranks, with the launcher of --mpiexec,\n"
               "which should place them on two hosts.\n"
               "Exit status: 0 measured, 2 wrong usage, 3 something could not be measured or written.");
    app.add_flag("--quick", chosen.quick, "fewer sizes and repetitions: about a minute in place of a few");
    app.add_option("--bytes", chosen.bytes,
                   "sizes of the transfers in place of 64 KiB to 16 MiB (--quick: 1 MiB and 4 MiB)")
        ->check(CLI::Range(1024L, 1L << 30));
    app.add_option("--json", chosen.json, "write the figures to this file");
    app.add_option("--plot", chosen.plot, "draw them into this file (matplotlib); without --json they go to FILE.json");
    app.add_option("--mpiexec", chosen.mpiexec, "the launcher and its arguments")->capture_default_str();
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError &error) {
        return app.exit(error) == 0 ? done : wrong_usage;
    }
    try {
        return run(chosen);
    } catch (const std::exception &error) {
        std::cerr << "thence doctor: " << error.what() << '\n';
        return not_measured;
    }
}
