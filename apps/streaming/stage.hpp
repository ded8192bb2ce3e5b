// SPDX-License-Identifier: BSD-3-Clause
// The part of one rank in the pipeline. Chunks of numbers go from stage to stage, and each stage applies its functions
// to every number. A chunk consists of blocks, which do not depend on each other: a block is what is computed and sent
// at a time.
//
// A stage has one or several ranks, its lanes. Each lane has a part of every chunk, and gets it from the rank of the
// same lane one stage before. With as many lanes as ranks on a host, every message goes to another host.
#pragma once

#include <mpi.h>
#include <string>
#include <vector>

namespace streaming {

struct Settings {
    int size = 1 << 16;   // numbers of a chunk, all lanes together
    int block = 4096;     // numbers of a block
    int chunks = 100;     // that go through the pipeline
    int functions = 0;    // that are applied to each number; 0: as many as stages
    int work = 20;        // steps of one function
    int lanes = 1;        // ranks of a stage
    bool verify = false;  // the last stage keeps all chunks for check()
    double cell_cost = 0; // simulated seconds for one function of one number
};

// Throws apps::InputError if these settings do not fit so many ranks.
void check_settings(const Settings &settings, int ranks);

class Stage {
public:
    Stage(const Settings &settings, int rank, int ranks);

    int stages() const { return all; }
    int position() const { return index; }
    // The ranks of the same lane in the stages before and after; MPI_PROC_NULL at the ends.
    int before() const { return index > 0 ? rank_ - settings.lanes : MPI_PROC_NULL; }
    int after() const { return index + 1 < all ? rank_ + settings.lanes : MPI_PROC_NULL; }
    bool receives() const { return index > 0; }
    bool sends() const { return index + 1 < all; }

    int chunks() const { return settings.chunks; }
    int numbers() const { return part; } // of a chunk in this lane
    int blocks() const { return (part + settings.block - 1) / settings.block; }
    int first(int block) const { return block * settings.block; }
    int length(int block) const { return block + 1 < blocks() ? settings.block : part - first(block); }

    // Where a block arrives, and where the result of compute() is, both for one chunk at a time.
    double *in(int block) { return received + first(block); }
    double *out(int block) { return made + first(block); }
    // Uses memory of the caller, for numbers() each, in place of its own.
    void use_memory(double *in_memory, double *out_memory) { received = in_memory, made = out_memory; }

    // in(block) -> out(block). The first stage makes the numbers, the last one keeps them if they are to be checked.
    // Any thread; different blocks at the same time.
    void compute(int chunk, int block);

    // Compares what the last stage has kept with a serial computation, bit by bit: an empty text, or which value is
    // wrong.
    std::string check() const;

private:
    const Settings &settings;
    int rank_, all, index, offset, part; // `offset`: of this lane in a chunk
    int first_function, last_function;
    std::vector<double> own_in, own_out, kept;
    double *received, *made;
};

} // namespace streaming
