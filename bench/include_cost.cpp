// SPDX-License-Identifier: BSD-3-Clause
// The compile time of the typed layer: a file that includes <mpi.h>, <coroutine> and <thence/mpi.hpp> is compared with
// one that includes the first two.
//
// The two are compiled alternately. The figure is the median of the differences in the compiler's processor time.
#include "measure/benchmark.hpp"
#include "measure/process.hpp"

#include <chrono>
#include <filesystem>
#include <sys/resource.h>

namespace {

using namespace std::chrono_literals;

double seconds_of_children() {
    rusage used{};
    getrusage(RUSAGE_CHILDREN, &used);
    const auto seconds = [](const timeval &time) {
        return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
    };
    return seconds(used.ru_utime) + seconds(used.ru_stime);
}

// Finds GCC 12, the compiler that the bar is for. Empty if it is not installed.
std::string find_compiler(std::string &tried) {
    for (std::string candidate : {THENCE_BENCH_CXX, "g++-12", "g++", "c++"}) {
        tried += tried.empty() ? candidate : ", " + candidate;
        try {
            const measure::outcome banner = measure::run_program({candidate, "--version"}, {}, 30s);
            const measure::outcome version = measure::run_program({candidate, "-dumpversion"}, {}, 30s);
            if (banner.exit_code == 0 && banner.output.find("Free Software Foundation") != std::string::npos &&
                (version.output + ".").find_first_of(".\n") == 2 && version.output.starts_with("12")) {
                return candidate;
            }
        } catch (const std::runtime_error &) { // cannot be started: try the next one
        }
    }
    return {};
}

// The folder of Thence's headers: the installed one beside this program, else that of the sources.
std::string find_headers() {
    for (const std::string &folder : {measure::own_folder() + "/../../include", std::string(THENCE_BENCH_INCLUDE)}) {
        if (std::filesystem::exists(folder + "/thence/mpi.hpp")) {
            return folder;
        }
    }
    throw std::runtime_error("thence/mpi.hpp is found neither beside this program nor in " THENCE_BENCH_INCLUDE
                             ": install Thence with its headers");
}

class compiler {
public:
    explicit compiler(std::string program) : command_{std::move(program), "-std=c++20", "-O2", "-Wall"} {
        for (const std::string &option : measure::words(THENCE_BENCH_MPI_OPTIONS)) {
            command_.push_back(option);
        }
        command_.push_back("-I" + find_headers());
    }
    // Processor seconds to compile a file that includes these headers.
    double seconds(const std::vector<std::string> &headers) const {
        std::vector<std::string> command = command_;
        for (const std::string &header : headers) {
            command.insert(command.end(), {"-include", header});
        }
        command.insert(command.end(), {"-x", "c++", "-c", "/dev/null", "-o", "/dev/null"});
        const double before = seconds_of_children();
        const measure::outcome result = measure::run_program(command, {"CCACHE_DISABLE=1"}, 120s);
        if (result.exit_code != 0) {
            throw std::runtime_error("the compiler failed on <" + headers.back() + ">:\n" + result.errors);
        }
        return seconds_of_children() - before;
    }

private:
    std::vector<std::string> command_;
};

void judge(measure::session &session) {
    std::string tried;
    const std::string program = find_compiler(tried);
    if (program.empty()) {
        session.skip("no GCC 12 found, tried " + tried + ": install g++-12 (Debian 12: apt install g++)");
        return;
    }
    const compiler gcc(program);
    const std::vector<std::string> without{"mpi.h", "coroutine"};
    struct side {
        std::string header;
        std::vector<double> with = {};
        std::vector<double> added = {};
    };
    std::vector<side> sides{{"thence/mpi.hpp"}, {"thence/timeout.hpp"}, {"thence/exec.hpp"}};
    std::vector<double> baseline;
    const int repeats = session.quick() ? 3 : 9;
    gcc.seconds(without); // reads the files into the page cache
    for (int i = 0; i < repeats; ++i) {
        baseline.push_back(gcc.seconds(without));
        for (side &s : sides) {
            s.with.push_back(gcc.seconds({"mpi.h", "coroutine", s.header}));
            s.added.push_back(s.with.back() - baseline.back());
        }
    }
    for (const side &s : sides) {
        const bool judged = &s == &sides.front();
        session.add({.name = "<" + s.header + ">",
                     .found = measure::median_of(s.added),
                     .unit = "seconds of compile time",
                     .kind = judged ? measure::bar_kind::at_most : measure::bar_kind::none,
                     .bar = 1.5,
                     .against = "<mpi.h> and <coroutine> alone",
                     .side_unit = "seconds",
                     .ours = measure::median_of(s.with).value,
                     .baseline = measure::median_of(baseline).value,
                     .to_beat = judged ? "stdexec: 3 to 6 seconds" : ""});
    }
}

} // namespace

int main(int argc, char **argv) {
    return measure::main(argc, argv,
                         {.name = "include_cost",
                          .about = "compile time that the typed layer adds to <mpi.h> and <coroutine> with GCC 12",
                          .bars = "at most 1.5 seconds",
                          .pieces = {},
                          .judge = judge});
}
