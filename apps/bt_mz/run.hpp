// SPDX-License-Identifier: BSD-3-Clause
// The input of a variant: the zones of this rank, who has the others, the recorder and the progress bar. All variants
// keep the same order: step t of a zone comes after step t - 1 of that zone and of its four neighbours, whichever ranks
// own them. So all compute the same solution, bit for bit.
#pragma once

#include "zone.hpp"

#include "common/imbalance.hpp"
#include "common/progress_bar.hpp"
#include "common/recorder.hpp"
#include "common/variant.hpp"

#include <atomic>
#include <memory>
#include <mpi.h>
#include <span>

namespace bt_mz {

using apps::Nanoseconds;

// A zone of this rank with the faces that it exchanges. Exchange t comes before step t and uses the buffers t % 2, so
// that a zone can write the faces of the next exchange while its neighbours still read those of the last one.
struct LocalZone {
    LocalZone(const ZoneShape &shape, const Constants &constants, bool values) : zone(shape, constants, values) {}

    const ZoneShape &shape() const { return zone.shape; }

    Zone zone;
    int index = 0;                        // among the zones of this rank
    LocalZone *local[sides] = {};         // the neighbour, if this rank has it too
    bool has_remote = false;              // some neighbour is of another rank
    std::vector<double> out[2][sides];    // what the neighbours read
    std::vector<double> in[2][sides];     // what came from other ranks
    std::vector<apps::Message> flying[2]; // messages of an exchange, for the recorder
    double factor = 1;                    // of --imbalance
    std::atomic<Nanoseconds> compute{0};  // time of all threads in this zone
};

// The parts of a zone's step. Threads can share the planes or rows of a part; the next part begins after all of them.
enum class Part { derive, planes, rows };
constexpr Part parts[] = {Part::derive, Part::planes, Part::rows};

struct Run {
    const Problem &problem;
    const std::vector<ZoneShape> &shapes; // of all ranks
    const std::vector<int> &owner;
    std::vector<std::unique_ptr<LocalZone>> &zones; // of this rank
    MPI_Comm comm;
    int rank, ranks, threads, steps;
    apps::Recorder &recorder;
    apps::ProgressBar &bar;
    double cell_cost = 0; // simulated seconds for a step of one cell, on simulated ranks

    // The range of planes or rows of a part.
    static int first(Part part) { return part == Part::derive ? 0 : 1; }
    static int last(Part part, const LocalZone &z) {
        return part == Part::derive ? z.shape().nz : part == Part::planes ? z.shape().nz - 1 : z.shape().ny - 1;
    }

    // Computes [begin, end) of a part. May be called by any thread.
    void compute(LocalZone &z, Part part, int step, int begin, int end);
    // A whole step of a zone by this thread.
    void compute(LocalZone &z, int step);
    // Called once after the step of a zone.
    void done(const LocalZone &z, int step) {
        if (z.index == 0) {
            bar.show(step + 1);
        }
    }

    // Writes the faces of exchange t.
    static void copy_out(LocalZone &z, int t);
    // Reads the faces of exchange t: those of local neighbours, and those that came in messages.
    void copy_in(LocalZone &z, int t);
    // Starts the messages of exchange t with all remote neighbours of a zone, at most 8. Returns how many.
    int start_messages(LocalZone &z, int t, MPI_Request requests[2 * sides]);
};

// The zones of this rank, connected with each other, in the order in which variants take them: first those whose faces
// travel, then the large ones. Without values, faces travel but nothing is computed.
std::vector<std::unique_ptr<LocalZone>> make_local_zones(const std::vector<ZoneShape> &shapes,
                                                         const std::vector<int> &owner, int rank,
                                                         const Constants &constants, bool values = true);

// One step that is not timed: it makes threads and connections, and touches the memory. Then the solution is at its
// start again.
void warm_up(const Run &run, void (*solve)(Run &));

struct Variant : apps::VariantInfo {
    void (*solve)(Run &); // run.steps steps from the present solution
};

// The variants that were compiled; `serial` is the first.
std::span<const Variant> variants();

void solve_mpi(Run &run);
void solve_waitsome(Run &run);
void solve_callbacks(Run &run);
void solve_forkjoin(Run &run);
void solve_omp_tasks(Run &run);
void solve_tampi_blocking(Run &run);
void solve_tampi_iwait(Run &run);
void solve_dataflow(Run &run);
// Throws apps::InputError if this rank has more zones than OpenMP's tasks can be made for.
void check_omp_tasks(const Run &run);

} // namespace bt_mz
