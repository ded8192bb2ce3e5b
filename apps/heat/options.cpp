// SPDX-License-Identifier: BSD-3-Clause
#include "options.hpp"

#include "common/simulated.hpp"

#ifdef HEAT_HAVE_OPENMP
#include <omp.h>
#endif

namespace heat {

const apps::Description description{
    .name = "heat",
    .about = "heat: temperature of a plate by blocked Gauss-Seidel iterations, on MPI ranks and threads.\n"
             "All variants compute the same field, bit for bit.",
    .examples = "  heat sources.cfg --field plate.npy\n"
                "  mpirun -n 4 heat sources.cfg --variant mpi --verify\n"
                "  mpirun -n 2 heat sources.cfg --variant omp-tasks --threads 4 --json run.json\n"
                "  mpirun -n 2 heat sources.cfg --variant mpi --imbalance 5@rank:1\n",
    .wrong = "the field differs",
    .timeline = !apps::simulated}; // the recorder reads the clock of the machine

bool parse_options(Options &o, int argc, char **argv, int &status) {
    std::string size;
    const auto add = [&](CLI::App &app) {
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
        if (apps::simulated) {
            app.add_option("--cell-cost", o.cell_cost, "Simulated seconds for one cell")
                ->check(CLI::Range(0.0, 1.0))
                ->required();
        }
        apps::add_imbalance_option(app, o, {"rank", "area"});
    };
    const auto check = [&] {
        if (!size.empty() && !(o.size = parse_size(size))) {
            throw CLI::ValidationError("--size",
                                       "'" + size + "' is not a size; write ROWSxCOLUMNS, for example 512x1024");
        }
    };
    return apps::parse_options(o, description, variants(), argc, argv, status, add, check);
}

void restart_with_openmp_settings([[maybe_unused]] char **argv, [[maybe_unused]] const Options &options) {
#ifdef HEAT_HAVE_OPENMP
    if (options.chosen->solve == solve_omp_tasks && omp_get_max_task_priority() < 2) {
        apps::restart_with(argv, "heat", "OMP_MAX_TASK_PRIORITY", "2");
    }
#endif
}

} // namespace heat
