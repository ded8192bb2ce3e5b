// SPDX-License-Identifier: BSD-3-Clause
// What all applications are around their variants: the command line, the start of MPI, and the timed run with its
// recorder and progress bar. An application adds its own options, its data and its report.
#pragma once

#include "measure.hpp"
#include "options.hpp"
#include "program.hpp"
#include "timeline.hpp"
#include "variant.hpp"

#include <functional>
#include <span>
#include <string>
#include <vector>

namespace apps {

// The options of an application add their own.
template <class Variant> struct OptionsOf : CommonOptions { const Variant *chosen = nullptr; };

struct Description {
    const char *name, *about;
    const char *examples; // the lines of --help that show some calls, each ended
    const char *wrong;    // what exit status 3 says
    bool timeline = true; // has --timeline
};

// The command line. `add` adds the options of the application to those of all; `check` is called when all are known,
// and may throw CLI::ParseError. `more`: what --help says before the variants. If it returns false, the program must
// exit with `status`.
template <class Variant>
bool parse_options(
    OptionsOf<Variant> &options, const Description &description, std::span<const Variant> all, int argc, char **argv,
    int &status, const std::function<void(CLI::App &)> &add, const std::function<void()> &check = [] {},
    const std::string &more = "") {
    CLI::App app(description.about, description.name);
    app.get_formatter()->column_width(34);
    add(app);
    add_json_option(app, options);
    if (description.timeline) {
        add_timeline_options(app, options);
    }
    add_progress_option(app, options);
    app.footer("\n" + more + variant_list(all) + "\nExamples:\n" + description.examples +
               "\nExit status: 0 done, 1 failure, 2 wrong usage, 3 " + description.wrong + ".");
    if (!parse(app, argc, argv, check, status)) {
        return false;
    }
    options.chosen = find_variant(all, options.variant);
    return true;
}

// Adds an option whose default is the present value.
void add_number(CLI::App &app, const char *name, int &value, const std::string &what, int least, int most);

// What a run of every application has around its variant: threads, recorder, clock, and what was measured.
class TimedRun {
public:
    // Throws InputError if the threads, the imbalance or a file of the options cannot be. `more_files`: others that the
    // application writes. Collective.
    TimedRun(const char *program, const VariantInfo &variant, const CommonOptions &options, MPI_Comm comm,
             const std::vector<std::string> &more_files = {});

    // Prepares the variant, lets all ranks begin at once, and measures. `run`: its input. Collective.
    template <class Variant, class Run> void solve(const Variant &of, Run &run) {
        if constexpr (requires { of.prepare(run); }) {
            if (of.prepare != nullptr) {
                of.prepare(run);
            }
        }
        const double begin = start();
        of.solve(run);
        measured = finish(MPI_Wtime() - begin, run.bar);
    }
    // Writes the timeline if the options name a file. Collective.
    void write_timeline(int iterations, const char *direction, const char *row = "row") const;

    const VariantInfo &variant;
    const CommonOptions &options;
    MPI_Comm comm;
    int rank = 0, ranks = 1, threads = 1;
    Recorder recorder;
    Measured measured; // on rank 0, after solve()

private:
    double start();
    Measured finish(double seconds, ProgressBar &bar) const;

    Nanoseconds offset_ = 0;
};

// main() of an application. `parse` fills the options, or sets the exit status and returns false; `run` gets them and a
// communicator, and returns the exit status; `remedy`: a variant that needs no thread level. `prepare` is called before
// MPI is started.
template <class Options>
int run_program(int argc, char **argv, const char *program, const char *remedy,
                bool (*parse)(Options &, int, char **, int &), int (*run)(const Options &, MPI_Comm),
                void (*prepare)(const Options &, char **) = nullptr) {
    int status = success;
    Options options;
    if (!parse(options, argc, argv, status)) {
        return status;
    }
    if (prepare != nullptr) {
        prepare(options, argv);
    }
    return run_with_mpi(program, *options.chosen, remedy, [&](MPI_Comm comm) { return run(options, comm); });
}

} // namespace apps
