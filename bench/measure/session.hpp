// SPDX-License-Identifier: BSD-3-Clause
// Used by the judge: runs pieces of work in other processes, reads their numbers, and adds figures to the report.
#pragma once

#include "measure/figure.hpp"

#include <chrono>
#include <map>
#include <string>
#include <vector>

namespace measure {

enum class level { single, funneled, multiple };

const char *name_of(level which); // "MPI_THREAD_SINGLE" and so on

// For the environment of a job that waits as MPI does: it removes the variables by which ranks of MPICH and Intel MPI
// yield. `make bench` sets them.
inline const std::vector<std::string> waiting_not_tuned{"MPIR_CVAR_POLLS_BEFORE_YIELD", "I_MPI_WAIT_MODE"};

// The work to run and its settings.
struct job {
    std::string work = {};
    level threads = level::multiple;
    std::map<std::string, long> parameters = {};
    std::vector<std::string> environment = {}; // NAME=value, or NAME to remove a variable
    int threads_per_rank = 1; // that compute; with more than 1, together() does not bind ranks to cores
    std::string program = {}; // the benchmark that has the work; empty: this one
    std::vector<std::string> run_options = {}; // of `thence run`, under which the work runs if there are any
    long few = 100;                            // the two iteration counts of instructions()
    long many = 500;
    std::chrono::seconds limit{300};
    bool main_thread_only = false; // instructions() leaves out other threads, such as the helper, which polls meanwhile
    bool as_mpi_waits = false;     // together() does not make ranks yield that are more than the processors
};

// The same job in the program NAME_plain, which is linked without interposition: for baselines.
job without_interposition(job what, const std::string &program);

using numbers = std::map<std::string, double>; // name and value of each work::result()

class session {
public:
    struct settings {
        bool quick = false;
        std::vector<std::string> launcher; // mpiexec and its arguments, without the number of ranks
        std::string thence;                // the `thence` command
        std::string folder;                // folder of the benchmarks
        std::string own_program;
        bool names_runs = true; // on standard error
    };
    session(const settings &chosen, report &into) : chosen_(chosen), report_(into) {}

    bool quick() const { return chosen_.quick; }

    // Instructions per iteration of the body that the work passes to count(), in one process: the difference of two
    // runs divided by the difference of their iteration counts. Options of `thence run` come as its environment.
    sample instructions(const job &what);

    // Runs the work in one process without the launcher, or in `ranks` processes with it.
    numbers alone(const job &what);
    numbers together(int ranks, const job &what);

    // Runs the work in one process on each of two hosts with this one-way delay between them, such as `300us`
    // (scripts/two_hosts.py).
    numbers on_two_hosts(const std::string &delay, const job &what);
    // Why this machine cannot have two hosts; an empty text if it can.
    std::string why_no_two_hosts() const;

    // The engine that Thence chooses in this environment: `openmpi`, `mpich` or `testsome`.
    std::string engine(const std::vector<std::string> &environment = {});

    void add(figure found);
    void skip(const std::string &reason) { report_.skipped = reason; }

private:
    std::vector<std::string> command_for(const job &what) const;
    std::vector<std::string> program_for(const job &what) const;
    std::vector<std::string> environment_of_run(const job &what) const;
    numbers run(const std::vector<std::string> &command, const job &what);

    settings chosen_;
    report &report_;
};

// The difference (or ratio) of two measured numbers; a difference is divided by `operations`. `low` and `high` are the
// extremes over all pairs of repetitions.
sample difference(const sample &ours, const sample &baseline, double operations = 1);
sample ratio(const sample &ours, const sample &baseline);

} // namespace measure
