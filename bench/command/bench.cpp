// SPDX-License-Identifier: BSD-3-Clause
// Runs benchmarks, each of which is a program beside this one, and prints their reports.
#include "command/bench.hpp"

#include "command/print.hpp"
#include "measure/process.hpp"
#include "measure/python.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <stdexcept>

namespace command {
namespace {

using measure::outcome;
using measure::run_program;

enum status { all_met = 0, bar_missed = 1, wrong_usage = 2, not_measured = 3 };

std::vector<std::string> known_names() {
    std::vector<std::string> names;
    std::istringstream in(THENCE_BENCH_NAMES);
    for (std::string name; std::getline(in, name, ',');) {
        names.push_back(name);
    }
    return names;
}

std::string folder() {
    return measure::own_folder();
}

nlohmann::json description_of(const std::string &name) {
    const outcome result = run_program({folder() + "/" + name, "--describe"}, {}, std::chrono::seconds(30));
    if (result.exit_code != 0) {
        throw std::runtime_error(name + " --describe failed\n" + result.errors);
    }
    return nlohmann::json::parse(result.output);
}

int list() {
    for (const std::string &name : known_names()) {
        const nlohmann::json description = description_of(name);
        std::cout << name << '\n'
                  << "    " << description.at("about").get<std::string>() << '\n'
                  << "    bar: " << description.at("bars").get<std::string>() << '\n';
    }
    return all_met;
}

bool names_are_known(const std::vector<std::string> &names) {
    const std::vector<std::string> known = known_names();
    for (const std::string &name : names) {
        if (std::find(known.begin(), known.end(), name) == known.end()) {
            std::cerr << "thence bench: no benchmark is named " << name << "; thence bench --list shows them\n";
            return false;
        }
    }
    return true;
}

// The time limit is as good as none, since each piece of work has its own.
measure::report run(const std::string &name, const bench_options &chosen) {
    std::vector<std::string> command{folder() + "/" + name, "--mpiexec", chosen.mpiexec};
    if (chosen.quick) {
        command.emplace_back("--quick");
    }
    std::cerr << "measuring " << name << '\n';
    const outcome result = run_program(command, {}, std::chrono::hours(24), measure::errors::show);
    try {
        return nlohmann::json::parse(result.output).get<measure::report>();
    } catch (const nlohmann::json::exception &) {
        measure::report broken{name, "printed no report", {}, {}, {}};
        broken.failed = "exit code " + std::to_string(result.exit_code) + "\n" + result.output + result.errors;
        return broken;
    }
}

// The output of `thence info --json` for the report; an empty object if it fails.
nlohmann::json environment() {
    const std::string command = measure::thence_command();
    if (!std::filesystem::exists(command)) {
        return nlohmann::json::object();
    }
    const outcome result = run_program({command, "info", "--json"}, {}, std::chrono::seconds(60));
    return result.exit_code == 0 ? nlohmann::json::parse(result.output) : nlohmann::json::object();
}

bool write_json(const std::string &file, const std::vector<measure::report> &reports, bool quick) {
    static const nlohmann::json measured_on = environment();
    std::ofstream out(file);
    out << nlohmann::json{{"measured_on", measured_on}, {"quick", quick}, {"benchmarks", reports}}.dump(
               2, ' ', false, nlohmann::json::error_handler_t::replace)
        << '\n';
    out.close();
    if (!out) {
        std::cerr << "thence bench: cannot write " << file << '\n';
        return false;
    }
    return true;
}

// Where figures and pictures are written. Checked before anything is measured, since measuring takes long.
struct outputs {
    std::string json; // empty: no file
    std::string python;
};
std::optional<outputs> check_outputs(const bench_options &chosen) {
    outputs found{chosen.json, {}};
    if (!chosen.plot.empty()) {
        std::error_code error;
        std::filesystem::create_directories(chosen.plot, error);
        if (error) {
            std::cerr << "thence bench: --plot " << chosen.plot << ": " << error.message() << '\n';
            return std::nullopt;
        }
        found.python = measure::python_with_matplotlib();
        if (found.python.empty()) {
            std::cerr << "thence bench: --plot needs Python with matplotlib (Debian: apt install python3-matplotlib)\n";
            return std::nullopt;
        }
        if (found.json.empty()) {
            found.json = chosen.plot + "/figures.json";
        }
    }
    if (!found.json.empty() && !std::ofstream(found.json, std::ios::app)) {
        std::cerr << "thence bench: cannot write " << found.json << '\n';
        return std::nullopt;
    }
    return found;
}

bool draw(const outputs &where, const std::string &into) {
    const outcome result =
        run_program({where.python, folder() + "/plot.py", where.json, into}, {}, std::chrono::seconds(120));
    std::cerr << result.errors;
    return result.exit_code == 0;
}

int run_all(const std::vector<std::string> &names, const bench_options &chosen) {
    const std::optional<outputs> where = check_outputs(chosen);
    if (!where) {
        return not_measured;
    }
    std::vector<measure::report> reports;
    bool written = true;
    for (const std::string &name : names) {
        reports.push_back(run(name, chosen));
        print(reports.back());
        if (!where->json.empty()) { // after each benchmark, so that an interrupted run keeps its figures
            written = write_json(where->json, reports, chosen.quick);
        }
    }
    if (!chosen.plot.empty()) {
        written = written && draw(*where, chosen.plot);
    }
    const bool measured = std::all_of(reports.begin(), reports.end(), [](const auto &r) { return r.failed.empty(); });
    const bool met = std::all_of(reports.begin(), reports.end(), [](const auto &r) { return r.passed(); });
    return !measured || !written ? not_measured : met ? all_met : bar_missed;
}

} // namespace

int bench(const bench_options &chosen) {
    if (chosen.list) {
        return list();
    }
    if (chosen.all == !chosen.names.empty()) {
        std::cerr << "thence bench: give "
                  << (chosen.all ? "either names of benchmarks or --all" : "names of benchmarks, or --all")
                  << "; thence bench --list shows them\n";
        return wrong_usage;
    }
    if (!names_are_known(chosen.names)) {
        return wrong_usage;
    }
    return run_all(chosen.all ? known_names() : chosen.names, chosen);
}

} // namespace command
