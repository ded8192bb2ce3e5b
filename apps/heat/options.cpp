// SPDX-License-Identifier: BSD-3-Clause
// The command line is parsed before MPI_Init, since the thread level depends on the variant. The rank is read from the
// launcher's environment variables.
#include "options.hpp"

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <unistd.h>
#ifdef HEAT_HAVE_OPENMP
#include <omp.h>
#endif

namespace heat {
namespace {

bool silent() {
    for (const char *name : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"})
        if (const char *rank = std::getenv(name))
            return std::string_view(rank) != "0";
    return false;
}

std::string variant_list() {
    std::string text = "Variants:\n";
    for (const Variant &v : variants()) {
        std::string name = v.name;
        name.resize(12, ' ');
        text += "  " + name + v.about + "\n";
    }
    return text;
}

} // namespace

std::optional<Options> parse_options(int argc, char **argv, int &status) {
    Options o;
    CLI::App app("heat: temperature of a plate by blocked Gauss-Seidel iterations, on MPI ranks and threads.\n"
                 "All variants compute the same field, bit for bit.");
    app.get_formatter()->column_width(34);
    std::string variant = "serial", size, progress = "auto";
    app.add_option("config", o.config, "Configuration file: size, borders, heat sources, picture")->required();
    app.add_option("-v,--variant", variant, "How to compute, see below [serial]")
        ->check(CLI::Validator(
            [](std::string &name) {
                return find_variant(name) ? "" : "unknown, or not built into this program; see heat --help";
            },
            ""));
    app.add_option("-t,--threads", o.threads, "Threads per rank [cores of the node / ranks on it]")
        ->check(CLI::Range(1, 512));
    app.add_option("-s,--size", size, "ROWSxCOLUMNS instead of the configured size");
    app.add_option("-i,--iterations", o.iterations, "Iterations instead of the configured number");
    app.add_option("-b,--block", o.block, "Rows and columns of a block instead of the configured number");
    app.add_flag("--verify", o.verify,
                 "Compare the field with that of a serial run, which rank 0 does after the timed run");
    app.add_option("--reference", o.reference, "Compare the field with a file that --field wrote");
    app.add_option("--field", o.field, "Write the final field as a NumPy array of doubles (.npy)");
    app.add_option("--start", o.start, "Write the starting field in the same format");
    app.add_option("--json", o.json, "Write settings, times and the result of the comparison");
    app.add_option("--timeline", o.timeline,
                   "Record the activity of each thread and each message, and write them as JSON");
    app.add_option("--timeline-capacity", o.timeline_capacity,
                   "Largest number of intervals and messages recorded per thread [131072]")
        ->check(CLI::Range(1, 1 << 26));
    app.add_option("--progress", progress, "Progress bar: auto (on a terminal), always, never [auto]")
        ->check(CLI::IsMember({"auto", "always", "never"}));
    app.footer("\n" + variant_list() +
               "\nExamples:\n"
               "  heat sources.cfg --field plate.npy\n"
               "  mpirun -n 4 heat sources.cfg --variant mpi --verify\n"
               "  mpirun -n 2 heat sources.cfg --variant omp-tasks --threads 4 --json run.json\n"
               "\nExit status: 0 done, 1 failure, 2 wrong usage or configuration, 3 the field differs.");
    try {
        app.parse(argc, argv);
        if (!size.empty() && !(o.size = parse_size(size)))
            throw CLI::ValidationError("--size",
                                       "'" + size + "' is not a size; write ROWSxCOLUMNS, for example 512x1024");
    } catch (const CLI::ParseError &e) {
        const bool asked = e.get_exit_code() == 0;
        status = asked ? success : usage;
        if (!silent()) {
            app.exit(e);
        }
        return std::nullopt;
    }
    o.variant = find_variant(variant);
    o.progress = progress == "always" ? When::always : progress == "never" ? When::never : When::automatic;
    return o;
}

void restart_with_openmp_settings([[maybe_unused]] char **argv, [[maybe_unused]] const Options &options) {
#ifdef HEAT_HAVE_OPENMP
    if (options.variant->solve != solve_omp_tasks || omp_get_max_task_priority() >= 2)
        return;
    if (std::getenv("HEAT_RESTARTED"))
        return; // the runtime ignores the variable: continue without it
    setenv("OMP_MAX_TASK_PRIORITY", "2", 1);
    setenv("HEAT_RESTARTED", "1", 1);
    execv("/proc/self/exe", argv);
    std::perror("heat: cannot restart with OMP_MAX_TASK_PRIORITY=2; set it yourself");
    std::exit(failure);
#endif
}

} // namespace heat
