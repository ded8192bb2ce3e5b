// SPDX-License-Identifier: BSD-3-Clause
#include "measure/session.hpp"

#include "measure/callgrind.hpp"
#include "measure/library.hpp"
#include "measure/process.hpp"

#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <thread>
#include <unistd.h>

namespace measure {
namespace {

// Open MPI's progress polls its event library at intervals of real time, which callgrind distorts. Without these polls,
// on both sides, counts repeat exactly. Other MPIs ignore the variable.
constexpr const char *no_event_ticks = "OMPI_MCA_mpi_event_tick_rate=0";

// Open MPI's launcher refuses to run as root without these variables. A user who runs the benchmark as root has chosen
// to.
std::vector<std::string> with_launcher_permission(std::vector<std::string> environment) {
    if (geteuid() == 0) {
        environment.insert(environment.end(), {"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1",
                                               "PRTE_ALLOW_RUN_AS_ROOT=1", "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1"});
    }
    return environment;
}

bool exceeds_processors(int processes) {
    return processes > static_cast<int>(std::thread::hardware_concurrency());
}

// With more ranks than processors the launcher must allow it, and waiting ranks must yield, unless it is measured how
// MPI waits.
std::vector<std::string> for_oversubscription(std::vector<std::string> environment, int ranks, bool as_mpi_waits) {
    if (exceeds_processors(ranks)) {
        environment.insert(environment.end(), {"OMPI_MCA_rmaps_base_oversubscribe=1",
                                               "PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe"});
        if (!as_mpi_waits) {
            environment.insert(environment.end(), {"MPIR_CVAR_POLLS_BEFORE_YIELD=1", "I_MPI_WAIT_MODE=1"});
        }
    }
    return environment;
}

// The relay between two hosts carries every message, so it needs a processor when ranks wait. Open MPI's launcher does
// not see the relay, and its ranks would spin.
std::vector<std::string> with_relay(std::vector<std::string> environment, int ranks) {
    if (exceeds_processors(ranks + 1)) {
        environment.insert(environment.end(),
                           {"OMPI_MCA_mpi_yield_when_idle=1", "MPIR_CVAR_POLLS_BEFORE_YIELD=1", "I_MPI_WAIT_MODE=1"});
    }
    return environment;
}

// Open MPI binds each of up to two ranks to one core, and Intel MPI binds each rank to its share of the cores. That is
// best for a rank with one thread, but all threads of a rank would have one core. MPICH binds nothing.
std::vector<std::string> without_binding(std::vector<std::string> environment) {
    environment.insert(environment.end(), {"OMPI_MCA_hwloc_base_binding_policy=none",
                                           "PRTE_MCA_hwloc_default_binding_policy=none", "I_MPI_PIN=0"});
    return environment;
}

std::string joined(const std::vector<std::string> &command) {
    std::string text;
    for (const std::string &word : command) {
        text += (text.empty() ? "" : " ") + word;
    }
    return text;
}

} // namespace

const char *name_of(level which) {
    return which == level::single     ? "MPI_THREAD_SINGLE"
           : which == level::funneled ? "MPI_THREAD_FUNNELED"
                                      : "MPI_THREAD_MULTIPLE";
}

job without_interposition(job what, const std::string &program) {
    what.program = program + "_plain"; // see CMakeLists.txt
    return what;
}

std::vector<std::string> session::command_for(const job &what) const {
    std::vector<std::string> command;
    if (!what.run_options.empty()) {
        command = {chosen_.thence, "run"};
        command.insert(command.end(), what.run_options.begin(), what.run_options.end());
        command.emplace_back("--");
    }
    const std::vector<std::string> program = program_for(what);
    command.insert(command.end(), program.begin(), program.end());
    return command;
}

std::vector<std::string> session::program_for(const job &what) const {
    std::vector<std::string> command{
        what.program.empty() ? chosen_.own_program : chosen_.folder + "/" + what.program,
        "--work",
        what.work,
        "--level",
        what.threads == level::single     ? "single"
        : what.threads == level::funneled ? "funneled"
                                          : "multiple",
    };
    if (chosen_.quick) {
        command.emplace_back("--quick");
    }
    for (const auto &[name, value] : what.parameters) {
        command.insert(command.end(), {"--parameter", name + "=" + std::to_string(value)});
    }
    return command;
}

// What `thence run` would set: `--print-env` prints lines such as export NAME='VALUE'.
std::vector<std::string> session::environment_of_run(const job &what) const {
    if (what.run_options.empty()) {
        return {};
    }
    std::vector<std::string> command{chosen_.thence, "run", "--print-env"};
    command.insert(command.end(), what.run_options.begin(), what.run_options.end());
    command.insert(command.end(), {"--", program_for(what)[0]});
    const outcome result = run_program(command, {}, what.limit);
    if (result.exit_code != 0) {
        throw std::runtime_error(joined(command) + "\n" + result.output + result.errors);
    }
    std::vector<std::string> found;
    std::istringstream lines(result.output);
    for (std::string line; std::getline(lines, line);) {
        constexpr std::string_view before = "export ";
        const std::size_t quote = line.find("='");
        if (!line.starts_with(before) || quote == line.npos || line.find('\'', quote + 2) != line.size() - 1) {
            throw std::runtime_error("no variable: " + line);
        }
        found.push_back(line.substr(before.size(), quote + 1 - before.size()) +
                        line.substr(quote + 2, line.size() - quote - 3));
    }
    return found;
}

sample session::instructions(const job &what) {
    std::vector<std::string> command = program_for(what);
    const int repeats = chosen_.quick ? 1 : 5;
    command.insert(command.end(), {"--few", std::to_string(what.few), "--many", std::to_string(what.many), "--repeats",
                                   std::to_string(repeats)});
    std::cerr << "  counting " << what.work << ", " << name_of(what.threads) << '\n';
    std::vector<std::string> environment = with_launcher_permission(what.environment);
    environment.emplace_back(no_event_ticks);
    const std::vector<std::string> of_run = environment_of_run(what);
    environment.insert(environment.end(), of_run.begin(), of_run.end());
    const std::vector<double> totals = instructions_per_call(
        command, environment, what.limit, what.main_thread_only ? count_of::main_thread : count_of::process);
    if (totals.size() != 1 + 2U * repeats) { // the first one is a warm-up
        throw std::runtime_error("callgrind saw " + std::to_string(totals.size()) + " calls instead of " +
                                 std::to_string(1 + 2 * repeats) + ": " + joined(command));
    }
    std::vector<double> per_iteration;
    for (int i = 0; i < repeats; ++i) {
        const double more = totals[2U * i + 2] - totals[2U * i + 1];
        per_iteration.push_back(more / static_cast<double>(what.many - what.few));
    }
    return median_of(per_iteration);
}

numbers session::run(const std::vector<std::string> &command, const job &what) {
    if (chosen_.names_runs) {
        std::cerr << "  running " << what.work << ", " << name_of(what.threads) << '\n';
    }
    const outcome result = run_program(command, with_launcher_permission(what.environment), what.limit);
    const std::string program_and_output = joined(command) + "\n" + result.output + result.errors;
    if (result.timed_out) {
        throw exceeded_limit(what.limit, program_and_output);
    }
    if (result.exit_code != 0) {
        throw std::runtime_error("exit code " + std::to_string(result.exit_code) + " from " + program_and_output);
    }
    numbers found;
    std::istringstream lines(result.output);
    for (std::string line; std::getline(lines, line);) {
        std::istringstream words_of_line(line);
        std::string word;
        std::string name;
        double value = 0;
        if (words_of_line >> word >> name >> value && word == "result") {
            const auto &[place, added] = found.try_emplace(name, value);
            if (!added && place->second != value) { // of a part that the program has repeated
                throw std::runtime_error(what.work + " reports two values of " + name + ": " + joined(command));
            }
        }
    }
    return found;
}

numbers session::alone(const job &what) {
    return run(command_for(what), what);
}

numbers session::together(int ranks, const job &what) {
    if (chosen_.launcher.empty()) {
        throw std::runtime_error("no launcher for " + std::to_string(ranks) + " ranks; give one with --mpiexec");
    }
    std::vector<std::string> command = chosen_.launcher;
    command.insert(command.end(), {"-n", std::to_string(ranks)});
    const std::vector<std::string> program = command_for(what);
    command.insert(command.end(), program.begin(), program.end());
    job launched = what;
    launched.environment = for_oversubscription(what.environment, ranks, what.as_mpi_waits);
    if (what.threads_per_rank > 1) {
        launched.environment = without_binding(launched.environment);
    }
    return run(command, launched);
}

numbers session::on_two_hosts(const std::string &delay, const job &what) {
    if (chosen_.launcher.empty()) {
        throw std::runtime_error("no launcher for two hosts; give one with --mpiexec");
    }
    std::vector<std::string> command{
        chosen_.folder + "/two_hosts.py", "--delay", delay, "--mpiexec", chosen_.launcher[0], "--"};
    const std::vector<std::string> program = command_for(what);
    command.insert(command.end(), program.begin(), program.end());
    job launched = what;
    launched.environment = with_relay(what.environment, 2);
    // Without Thence MPICH 4.0 sometimes does not end between hosts (docs/guide/two-hosts.md).
    const bool may_not_end = library_version().starts_with("MPICH Version:\t4") && what.run_options.empty();
    for (int more_tries = may_not_end ? 4 : 0; more_tries > 0; --more_tries) {
        launched.limit = std::min(what.limit, std::chrono::seconds(60));
        try {
            return run(command, launched);
        } catch (const exceeded_limit &) {
            std::cerr << "  again: that run did not end, which happens on MPICH 4.0 between hosts\n";
        }
    }
    launched.limit = what.limit;
    return run(command, launched);
}

std::string session::why_no_two_hosts() const {
    const outcome result = run_program({chosen_.folder + "/two_hosts.py", "--can-run"}, {}, std::chrono::seconds(60));
    if (result.exit_code == 0) {
        return {};
    }
    const std::size_t reason = result.errors.find("skipped: ");
    if (reason == std::string::npos) { // the script itself failed, so nothing may be left out
        throw std::runtime_error("two_hosts.py --can-run failed\n" + result.errors);
    }
    return result.errors.substr(reason + 9, result.errors.find('\n') - reason - 9);
}

std::string session::engine(const std::vector<std::string> &environment) {
    const outcome result = run_program({chosen_.thence, "info", "--json"}, with_launcher_permission(environment),
                                       std::chrono::seconds(60));
    if (result.exit_code != 0) {
        throw std::runtime_error(chosen_.thence + " info failed\n" + result.errors);
    }
    return nlohmann::json::parse(result.output).at("engine").get<std::string>();
}

void session::add(figure found) {
    report_.figures.push_back(std::move(found));
}

sample difference(const sample &ours, const sample &baseline, double operations) {
    return {(ours.value - baseline.value) / operations, (ours.low - baseline.high) / operations,
            (ours.high - baseline.low) / operations};
}

sample ratio(const sample &ours, const sample &baseline) {
    if (baseline.value <= 0 || ours.value <= 0) {
        throw std::runtime_error("measured " + std::to_string(ours.value) + " against " +
                                 std::to_string(baseline.value) + ": too few iterations");
    }
    return {ours.value / baseline.value, ours.low / baseline.high, ours.high / baseline.low};
}

} // namespace measure
