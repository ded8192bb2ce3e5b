// SPDX-License-Identifier: BSD-3-Clause
// The benchmarks of the Python package: bindings/python/bench/python_bench.py measures, this program judges one of
// them. THENCE_BENCH_PYTHON is its name.
#include "measure/benchmark.hpp"
#include "measure/process.hpp"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <unistd.h>
#include <vector>

namespace {

namespace fs = std::filesystem;

struct quantity {
    const char *key; // of the script
    const char *name;
    const char *unit;
    measure::bar_kind kind;
    double bar;
    const char *against;
};

struct benchmark {
    const char *name, *about, *bars;
    std::vector<quantity> quantities;
};

const benchmark &chosen() {
    static const benchmark all[] = {
        {"python_await",
         "await of a message in Python, compared with request.Wait() of mpi4py",
         "at most 60 us longer; with 1,000 receives outstanding at most 1.5 times as long as with one",
         {{"added_us", "added to a round trip", "us", measure::bar_kind::at_most, 60, "request.Wait()"},
          {"of_1000", "1,000 receives outstanding", "times", measure::bar_kind::at_most, 1.5, "one outstanding"}}},
        {"python_idle",
         "processor time of a Python event loop with 100 pending receives",
         "at most 2 % of a core",
         {{"percent", "100 pending receives", "% of a core", measure::bar_kind::at_most, 2, "a sleeping process"}}},
        {"python_rate",
         "completions per second in Python, compared with Request.Testsome and asyncio.sleep(0)",
         "at least 2 times as many",
         {{"ratio", "1,000 in flight", "times", measure::bar_kind::at_least, 2, "Testsome and asyncio.sleep(0)"}}},
    };
    for (const benchmark &each : all) {
        if (std::string(each.name) == THENCE_BENCH_PYTHON) {
            return each;
        }
    }
    throw std::logic_error("no such benchmark");
}

void judge(measure::session &session) {
    if (!fs::exists(THENCE_BENCH_PYTHON_RUN)) {
        return session.skip(std::string("no ") + THENCE_BENCH_PYTHON_RUN + ", which lies in the build folder");
    }
    const fs::path file = fs::temp_directory_path() / ("thence-python-" + std::to_string(::getpid()) + ".json");
    const measure::outcome done = measure::run_program(
        {THENCE_BENCH_PYTHON_RUN, chosen().name, "--json", file.string()}, {}, std::chrono::seconds(300));
    if (done.exit_code == 77) {
        return session.skip(done.output.substr(0, done.output.find('\n')));
    }
    if (done.exit_code != 0) {
        throw std::runtime_error("python_bench.py: " + done.errors);
    }
    std::ifstream stream(file);
    const nlohmann::json found = nlohmann::json::parse(stream).at(chosen().name);
    fs::remove(file);
    for (const quantity &each : chosen().quantities) {
        const double value = found.at(each.key).get<double>();
        session.add({.name = each.name,
                     .found = {value, value, value},
                     .unit = each.unit,
                     .kind = each.kind,
                     .bar = each.bar,
                     .against = each.against});
    }
}

} // namespace

int main(int argc, char **argv) {
    return measure::main(
        argc, argv,
        {.name = chosen().name, .about = chosen().about, .bars = chosen().bars, .pieces = {}, .judge = judge});
}
