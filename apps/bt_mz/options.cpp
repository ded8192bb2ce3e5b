// SPDX-License-Identifier: BSD-3-Clause
#include "options.hpp"

#include "common/simulated.hpp"

#include <cstdio>
#ifdef BT_MZ_HAVE_OPENMP
#include <omp.h>
#endif

namespace bt_mz {
namespace {

std::string class_list() {
    std::string text = "Classes:\n";
    for (const Problem &p : problems()) {
        char line[128];
        std::snprintf(line, sizeof line, "  %c  %d x %d x %d cells in %d x %d zones, %d steps of %g\n", p.name,
                      p.cells_x, p.cells_y, p.cells_z, p.zones_x, p.zones_y, p.steps, p.dt);
        text += line;
    }
    return text;
}

std::string class_names() {
    std::string text;
    for (const Problem &p : problems()) {
        text += (text.empty() ? "" : ", ") + std::string(1, p.name);
    }
    return text;
}

// The class with COLUMNSxROWS zones, which are on average as large as its own. Nothing if the text says no number.
std::optional<Problem> with_zones(const Problem &of, const std::string &text) {
    int columns = 0, rows = 0, used = 0;
    if (std::sscanf(text.c_str(), "%4dx%4d%n", &columns, &rows, &used) != 2 ||
        static_cast<std::size_t>(used) != text.size() || columns < 2 || rows < 2) {
        return std::nullopt;
    }
    Problem p = of;
    p.cells_x = of.cells_x / of.zones_x * columns;
    p.cells_y = of.cells_y / of.zones_y * rows;
    p.zones_x = columns;
    p.zones_y = rows;
    return p;
}

} // namespace

std::optional<Options> parse_options(int argc, char **argv, int &status) {
    Options o;
    CLI::App app(
        "bt_mz: NPB BT-MZ, the compressible Navier-Stokes equations by block-tridiagonal solves on zones of very\n"
        "different size, on MPI ranks and threads. Every run is verified with the official values.",
        "bt_mz");
    app.get_formatter()->column_width(34);
    std::string problem;
    app.add_option("class", problem, "Size of the problem, see below")
        ->required()
        ->check(CLI::Validator(
            [](std::string &name) {
                return find_problem(name) ? "" : "'" + name + "' is unknown; known are " + class_names();
            },
            ""));
    apps::add_variant_option(app, o, "How to compute", variants());
    apps::add_threads_option(app, o);
    app.add_option("-i,--steps", o.steps, "Steps instead of those of the class; such a run cannot be verified")
        ->check(CLI::Range(1, 1'000'000));
    app.add_option("--dt", o.dt, "Time step instead of that of the class; such a run fails the verification")
        ->check(CLI::PositiveNumber);
    std::string zones;
    if (apps::simulated) {
        app.add_option("--cell-cost", o.cell_cost, "Simulated seconds for a step of one cell")
            ->check(CLI::Range(0.0, 1.0))
            ->required();
        app.add_option("--zones", zones,
                       "COLUMNSxROWS: so many zones of the size of the class. Faces travel, and nothing is computed");
    }
    apps::add_imbalance_option(app, o, {"rank", "zones"});
    apps::add_json_option(app, o);
    apps::add_timeline_options(app, o);
    apps::add_progress_option(app, o);
    app.footer("\n" + class_list() + "\n" + apps::variant_list(variants()) +
               "\nExamples:\n"
               "  bt_mz S\n"
               "  mpirun -n 2 bt_mz W --variant forkjoin --threads 1\n"
               "  mpirun -n 2 bt_mz W --variant omp-tasks --threads 4 --json run.json --timeline run.timeline.json\n"
               "  mpirun -n 2 bt_mz W --variant dataflow --imbalance 3@zones:0,1\n"
               "\nExit status: 0 done, 1 failure, 2 wrong usage, 3 the verification failed.");
    const auto check = [&] {
        if (!zones.empty() && !(o.zones = with_zones(*find_problem(problem), zones))) {
            throw CLI::ValidationError("--zones", "'" + zones +
                                                      "' is no number of zones; write COLUMNSxROWS, both from 2 to " +
                                                      "9999, for example 32x32");
        }
    };
    if (!apps::parse(app, argc, argv, check, status)) {
        return std::nullopt;
    }
    o.problem = find_problem(problem);
    o.chosen = apps::find_variant(variants(), o.variant);
    if (o.steps == 0) {
        o.steps = o.problem->steps;
    }
    if (o.dt == 0) {
        o.dt = o.problem->dt;
    }
    return o;
}

void restart_with_openmp_settings([[maybe_unused]] char **argv, [[maybe_unused]] const Options &options) {
#ifdef BT_MZ_HAVE_OPENMP
    if (options.chosen->solve == solve_omp_tasks && omp_get_max_task_priority() < 2) {
        apps::restart_with(argv, "bt_mz", "OMP_MAX_TASK_PRIORITY", "2");
    }
#endif
}

} // namespace bt_mz
