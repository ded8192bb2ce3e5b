// SPDX-License-Identifier: BSD-3-Clause
#include "options.hpp"

#ifdef HEAT_HAVE_OPENMP
#include <omp.h>
#endif

namespace heat {

std::optional<Options> parse_options(int argc, char **argv, int &status) {
    Options o;
    CLI::App app("heat: temperature of a plate by blocked Gauss-Seidel iterations, on MPI ranks and threads.\n"
                 "All variants compute the same field, bit for bit.",
                 "heat");
    app.get_formatter()->column_width(34);
    std::string size;
    app.add_option("config", o.config, "Configuration file: size, borders, heat sources, picture")->required();
    apps::add_variant_option(app, o, "How to compute", variants());
    apps::add_threads_option(app, o);
    app.add_option("-s,--size", size, "ROWSxCOLUMNS instead of the configured size");
    app.add_option("-i,--iterations", o.iterations, "Iterations instead of the configured number");
    app.add_option("-b,--block", o.block, "Rows and columns of a block instead of the configured number");
    app.add_flag("--verify", o.verify,
                 "Compare the field with that of a serial run, which rank 0 does after the timed run");
    app.add_option("--reference", o.reference, "Compare the field with a file that --field wrote");
    app.add_option("--field", o.field, "Write the final field as a NumPy array of doubles (.npy)");
    app.add_option("--start", o.start, "Write the starting field in the same format");
    apps::add_imbalance_option(app, o, {"rank", "area"});
    apps::add_json_option(app, o);
    apps::add_timeline_options(app, o);
    apps::add_progress_option(app, o);
    app.footer("\n" + apps::variant_list(variants()) +
               "\nExamples:\n"
               "  heat sources.cfg --field plate.npy\n"
               "  mpirun -n 4 heat sources.cfg --variant mpi --verify\n"
               "  mpirun -n 2 heat sources.cfg --variant omp-tasks --threads 4 --json run.json\n"
               "  mpirun -n 2 heat sources.cfg --variant mpi --imbalance 5@rank:1\n"
               "\nExit status: 0 done, 1 failure, 2 wrong usage or configuration, 3 the field differs.");
    const auto check = [&] {
        if (!size.empty() && !(o.size = parse_size(size)))
            throw CLI::ValidationError("--size",
                                       "'" + size + "' is not a size; write ROWSxCOLUMNS, for example 512x1024");
    };
    if (!apps::parse(app, argc, argv, check, status))
        return std::nullopt;
    o.chosen = apps::find_variant(variants(), o.variant);
    return o;
}

void restart_with_openmp_settings([[maybe_unused]] char **argv, [[maybe_unused]] const Options &options) {
#ifdef HEAT_HAVE_OPENMP
    if (options.chosen->solve == solve_omp_tasks && omp_get_max_task_priority() < 2)
        apps::restart_with(argv, "heat", "OMP_MAX_TASK_PRIORITY", "2");
#endif
}

} // namespace heat
