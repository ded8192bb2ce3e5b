// SPDX-License-Identifier: BSD-3-Clause
// What a variant works on: the sequence of tasks, the blocks of this rank, and who is told of each task.
#pragma once

#include "sequence.hpp"

#include "common/progress_bar.hpp"
#include "common/recorder.hpp"
#include "common/simulated.hpp"
#include "common/variant.hpp"

#include <atomic>
#include <functional>
#include <memory>
#include <mpi.h>
#include <span>
#include <string>
#include <vector>

namespace qr {

// The blocks that this rank has or uses. Blocks that others own are kept until the end.
class Blocks {
public:
    Blocks(const Sequence &sequence, int rank);
    double *at(int block) const { return memory_[static_cast<std::size_t>(block)].get(); }

private:
    std::vector<std::unique_ptr<double[]>> memory_;
};

// Simulated microseconds of a poll that finds nothing. Without it, simulated time would stand still.
constexpr unsigned poll_cost = 2;

struct Run {
    MPI_Comm comm;
    int rank, threads;
    const Sequence &sequence;
    Blocks &blocks;
    apps::Recorder &recorder;
    apps::ProgressBar &bar;
    int window;   // of the reference engine: active requests
    int outgoing; // messages with data under way
    std::function<void(int transfer)>
        ended{};               // an engine calls it once for each transfer of this rank, when its data are there
    double operation_cost = 0; // simulated seconds; then nothing is computed
    std::atomic<int> done{0};
    double seconds = 0; // of the factorization on this rank, without what a variant makes before and ends after it

    template <class Factorize> void time(Factorize factorize) {
        MPI_Barrier(comm);
        const double begin = MPI_Wtime();
        factorize();
        seconds = MPI_Wtime() - begin;
    }

    void compute(const Task &task) {
        const apps::Nanoseconds begin = apps::now();
        if constexpr (apps::simulated) {
            apps::inject(sequence.operations(task) * operation_cost);
        } else {
            run(sequence, task, [this](int block) { return blocks.at(block); });
        }
        recorder.add(apps::Activity::compute, begin, apps::now(), task.k, task.kind, task.j);
        if (const int count = ++done; (count & 15) == 0) {
            bar.show(count);
        }
    }
};

struct Variant : apps::VariantInfo {
    void (*solve)(Run &);
};
std::span<const Variant> variants();

void solve_forkjoin(Run &run);
void solve_messages(Run &run);  // active messages
void solve_reference(Run &run); // an engine on MPI_Testsome
// The same on one thread, without tasks of a runtime.
void solve_messages_alone(Run &run);
void solve_reference_alone(Run &run);

// Of the factorization, on rank 0: how far Q R is from the matrix, and the columns of Q from orthogonal ones.
// Collective.
struct Errors {
    double residual = 0, orthogonality = 0;
    bool are_small() const { return residual < 1e-13 && orthogonality < 1e-13; } // false also for what is no number
};
Errors check(const Run &run);

} // namespace qr
