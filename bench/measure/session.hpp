// SPDX-License-Identifier: BSD-3-Clause
// The judging side: runs pieces of work in processes of their own, takes their numbers, and adds figures to the report.
#pragma once

#include "measure/figure.hpp"

#include <chrono>
#include <map>
#include <string>
#include <vector>

namespace measure {

enum class level { single, multiple };

const char *name_of(level which); // "MPI_THREAD_SINGLE", "MPI_THREAD_MULTIPLE"

// Which work to run, and how.
struct job {
    std::string work = {};
    level threads = level::multiple;
    std::map<std::string, long> parameters = {};
    std::vector<std::string> environment = {}; // NAME=value
    std::string program = {};                  // another benchmark's work; empty: the benchmark's own
    long few = 100;                            // the two iteration counts of instructions()
    long many = 500;
    std::chrono::seconds limit{300};
};

// The job in the same program without interposition, as if Thence were not linked. For baselines.
job without_interposition(job what, const std::string &program);

using numbers = std::map<std::string, double>; // what the work gave to work::result()

class session {
public:
    struct settings {
        bool quick = false;
        std::vector<std::string> launcher; // mpiexec and its arguments, without the number of processes
        std::string thence;                // the `thence` command
        std::string folder;                // of the benchmarks
        std::string own_program;
    };
    session(const settings &chosen, report &into) : chosen_(chosen), report_(into) {}

    bool quick() const { return chosen_.quick; }

    // Instructions per iteration of the work's counted body, in one process: the difference of two iteration counts.
    sample instructions(const job &what);

    // Runs the work in one process without launcher, or in `ranks` with it.
    numbers alone(const job &what);
    numbers together(int ranks, const job &what);

    // The engine that Thence chooses in this environment: `openmpi`, `mpich` or `testsome`.
    std::string engine(const std::vector<std::string> &environment = {});

    void add(figure found);
    void skip(const std::string &reason) { report_.skipped = reason; }

private:
    std::vector<std::string> command_for(const job &what) const;
    numbers run(const std::vector<std::string> &command, const job &what);

    settings chosen_;
    report &report_;
};

// The difference of two measured numbers, per `operations`, with the widest spread that the repetitions allow.
sample difference(const sample &ours, const sample &baseline, double operations = 1);
sample ratio(const sample &ours, const sample &baseline);

} // namespace measure
