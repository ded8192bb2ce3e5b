// SPDX-License-Identifier: BSD-3-Clause
#include "options.hpp"

#include "common/simulated.hpp"

#include <cstdio>

namespace amr {
namespace {

// Four spheres in two pairs that move towards each other, as in the input of the paper's experiments.
std::vector<Object> usual_objects() {
    return {{{0.25, 0.25, 0.25}, 0.23, {0.016, 0, 0}},
            {{0.25, 0.75, 0.75}, 0.23, {0.016, 0, 0}},
            {{0.75, 0.25, 0.75}, 0.23, {-0.016, 0, 0}},
            {{0.75, 0.75, 0.25}, 0.23, {-0.016, 0, 0}}};
}

// X,Y,Z,RADIUS,DX,DY,DZ. False if the text is no object.
bool parse_object(const std::string &text, Object &o) {
    int used = 0;
    return std::sscanf(text.c_str(), "%lf,%lf,%lf,%lf,%lf,%lf,%lf%n", &o.centre[0], &o.centre[1], &o.centre[2],
                       &o.radius, &o.step[0], &o.step[1], &o.step[2], &used) == 7 &&
           static_cast<std::size_t>(used) == text.size() && o.radius > 0 && o.radius < 10;
}

bool parse_roots(const std::string &text, std::array<int, 3> &roots) {
    int used = 0;
    if (std::sscanf(text.c_str(), "%4dx%4dx%4d%n", &roots[0], &roots[1], &roots[2], &used) != 3 ||
        static_cast<std::size_t>(used) != text.size()) {
        return false;
    }
    return std::all_of(roots.begin(), roots.end(), [](int n) { return n >= 1 && n <= 64; });
}

} // namespace

const apps::Description description{
    .name = "amr",
    .about =
        "amr: a stencil on an adaptive mesh of blocks, which is refined where the surfaces of moving objects are.\n"
        "Blocks exchange faces, and move between ranks. All variants compute the same cells, bit for bit.",
    .examples = "  amr --levels 3 --mesh mesh.json\n"
                "  mpirun -n 4 amr --variant mpi --verify\n"
                "  mpirun -n 2 amr --variant tampi --threads 2 --faces 1 --json run.json\n"
                "  mpirun -n 2 amr --variant mpi --object 0.5,0.5,0.5,0.3,0.02,0,0 --imbalance 5@rank:1\n",
    .wrong = "a cell differs",
    .timeline = !apps::simulated}; // the recorder reads the clock of the machine

bool parse_options(Options &o, int argc, char **argv, int &status) {
    Settings &s = o.settings;
    std::string roots;
    std::vector<std::string> objects;
    const auto add = [&](CLI::App &app) {
        apps::add_variant_option(app, o, "How to compute and to exchange faces", variants());
        apps::add_threads_option(app, o);
        app.add_option("-r,--roots", roots, "AxBxC blocks before refinement [2x2x2]");
        apps::add_number(app, "-l,--levels", s.levels, "Finest level of refinement", 0, 8);
        apps::add_number(app, "-b,--block", s.block, "Cells along an edge of a block, even", 2, 256);
        apps::add_number(app, "-n,--variables", s.variables, "Variables of a cell", 1, 1000);
        apps::add_number(app, "-s,--steps", s.steps, "Time steps", 1, 1 << 20);
        apps::add_number(app, "--stages", s.stages, "Stages of a time step: exchange of faces, then the stencil", 1,
                         1000);
        apps::add_number(app, "-e,--refine-every", s.refine_every, "Time steps between two refinements", 1, 1 << 20);
        apps::add_number(app, "-f,--faces", s.faces, "Faces in one message at most", 1, 1 << 20);
        app.add_option(
            "--object", objects,
            "X,Y,Z,RADIUS,DX,DY,DZ: a sphere in the unit cube and how far it moves in a step; may be repeated "
            "[four that meet]");
        app.add_flag("--verify", o.verify,
                     "Compare all cells with those of a serial run, which rank 0 does after the timed run");
        app.add_option("--mesh", o.mesh, "Write the blocks of all meshes as JSON");
        if (apps::simulated) {
            app.add_option("--cell-cost", o.cell_cost, "Simulated seconds for one variable of one cell")
                ->check(CLI::Range(0.0, 1.0))
                ->required();
        }
        apps::add_imbalance_option(app, o, {"rank", "area"});
    };
    const auto check = [&] {
        if (!roots.empty() && !parse_roots(roots, s.roots)) {
            throw CLI::ValidationError("--roots",
                                       "'" + roots + "' is no mesh; write AxBxC, each from 1 to 64, for example 4x2x2");
        }
        if (s.block % 2 != 0) {
            throw CLI::ValidationError("--block",
                                       std::to_string(s.block) + " is odd; a refined block halves its cells");
        }
        s.objects = usual_objects();
        if (!objects.empty()) {
            s.objects.clear();
        }
        for (const std::string &text : objects) {
            if (!parse_object(text, s.objects.emplace_back())) {
                throw CLI::ValidationError("--object", "'" + text +
                                                           "' is no object; write X,Y,Z,RADIUS,DX,DY,DZ, for " +
                                                           "example 0.5,0.5,0.5,0.3,0.02,0,0");
            }
        }
    };
    return apps::parse_options(o, description, variants(), argc, argv, status, add, check);
}

} // namespace amr
