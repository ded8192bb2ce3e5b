// SPDX-License-Identifier: BSD-3-Clause
// amr: reads the command line, runs one variant, compares the cells with a serial run and reports.
#include "outcome.hpp"

#include "common/wrong_value.hpp"
#ifdef AMR_HAVE_TBB
#include "common/tampi.hpp"
#endif

namespace amr {
namespace {

// The cells of a serial run in this process.
std::vector<double> serial_cells(const Settings &settings, double &time) {
    Domain domain(settings, MPI_COMM_SELF);
    apps::Recorder recorder(0);
    apps::ProgressBar bar(false, "", settings.steps);
    Run run{domain, 1, recorder, bar, nullptr, [](int) {}};
    const Nanoseconds begin = apps::now();
    solve_serial(run);
    time = static_cast<double>(apps::now() - begin) * 1e-9;
    return domain.gather();
}

// An empty text, or which cell of the mesh differs.
std::string first_difference(const Domain &domain, const std::vector<double> &found, const std::vector<double> &right) {
    const auto each = static_cast<std::size_t>(Block::cells(domain.settings()));
    const auto edge = static_cast<std::size_t>(domain.settings().block);
    for (std::size_t i = 0; i < right.size(); ++i) {
        if (apps::same_bits(found[i], right[i])) {
            continue;
        }
        const std::size_t in = i % each;
        const auto text = [](std::size_t number) { return std::to_string(number); };
        return apps::wrong_value("block " + text(i / each) + ", variable " + text(in / (edge * edge * edge)) +
                                     ", cell (" + text(in % edge) + ", " + text(in / edge % edge) + ", " +
                                     text(in / edge / edge % edge) + ")",
                                 found[i], right[i]);
    }
    return "";
}

// One mesh after the other, as it is made: rank 0 knows all of each.
class MeshFile {
public:
    MeshFile(const std::string &name, const Settings &s) : file(name) {
        file.member("roots", s.roots);
        file.member("levels", s.levels);
        file.member("block_fields", {"step", "level", "x", "y", "z", "rank"});
        file.begin_rows("blocks");
    }
    void add(int step, const Mesh &mesh) {
        for (const Leaf &l : mesh.leaves()) {
            file.row({step, l.level, l.at[0], l.at[1], l.at[2], l.owner});
        }
    }
    void finish() {
        file.end_rows();
        file.finish();
    }

private:
    apps::JsonFile file;
};

int run_variant(const Options &o, MPI_Comm comm) {
    apps::TimedRun timed("amr", *o.chosen, o, comm, {o.mesh});
    const int rank = timed.rank;
    Domain domain(o.settings, comm);
    apps::ProgressBar bar(apps::draws_bar(o.progress, rank), o.chosen->name, o.settings.steps, "steps");
    std::optional<MeshFile> meshes;
    if (rank == 0 && !o.mesh.empty()) {
        meshes.emplace(o.mesh, o.settings);
    }
    const auto add_mesh = [&](int step) {
        if (meshes) {
            meshes->add(step, domain.mesh());
        }
    };
    Run run{domain, timed.threads, timed.recorder, bar, o.imbalance ? &*o.imbalance : nullptr, add_mesh, o.cell_cost};

    timed.solve(*o.chosen, run);
    if (o.chosen->release != nullptr) {
        o.chosen->release(run);
    }
    timed.write_timeline(o.settings.steps * o.settings.stages, "higher");
    Outcome outcome;
    outcome.measured = timed.measured;
    if (meshes) {
        meshes->finish();
    }
    const long moved = domain.moved();
    MPI_Reduce(&moved, &outcome.moved, 1, MPI_LONG, MPI_SUM, 0, comm);
    MPI_Reduce(&run.refine_time, &outcome.refine_time, 1, MPI_DOUBLE, MPI_MIN, 0, comm);
    outcome.updates = run.updates;
    outcome.blocks = domain.mesh().size();
    if (o.verify) {
        const std::vector<double> found = domain.gather();
        std::string wrong;
        if (rank == 0) {
            double time = -1;
            wrong = first_difference(domain, found, serial_cells(o.settings, time));
            if (!apps::simulated) { // there the serial run takes the machine's time
                outcome.serial_time = time;
            }
        }
        outcome.wrong = apps::first_wrong("amr", wrong, comm);
    }
    if (rank == 0) {
        print_table(o, outcome);
        if (!o.json.empty()) {
            write_json(o, outcome);
        }
    }
    return outcome.wrong.empty() ? apps::success : apps::wrong_result;
}

void prepare([[maybe_unused]] const Options &options, char **) {
#ifdef AMR_HAVE_TBB
    apps::prepare_tampi(*options.chosen);
#endif
}

} // namespace
} // namespace amr

int main(int argc, char **argv) {
    return apps::run_program<amr::Options>(argc, argv, amr::description.name, "mpi", amr::parse_options,
                                           amr::run_variant, amr::prepare);
}
