// SPDX-License-Identifier: BSD-3-Clause
// The blocks of one rank, and how they follow the mesh: refine() makes the next mesh, splits and merges blocks, and
// moves them to their new owners. It is the same for all variants, with nonblocking messages of MPI, and is not
// overlapped with anything.
#pragma once

#include "plan.hpp"

#include <memory>
#include <mpi.h>
#include <string>

namespace amr {

class Domain {
public:
    Domain(const Settings &settings, MPI_Comm comm);

    const Settings &settings() const { return set; }
    const Mesh &mesh() const { return now; }
    const Plan &plan() const { return faces; }
    int rank() const { return my_rank; }
    int ranks() const { return all_ranks; }
    MPI_Comm comm() const { return communicator; }
    Block &block(int leaf) { return *blocks[static_cast<std::size_t>(leaf)]; }

    // Parts of the two buffers. Their memory stays where it is until refine().
    double *send_part(const Parcel &parcel) { return send_buffer + parcel.offset; }
    double *receive_part(const Parcel &parcel) { return receive_buffer + parcel.offset; }
    // Uses memory of the caller, large enough for the plan, in place of its own until refine().
    void use_memory(double *send, double *receive) { send_buffer = send, receive_buffer = receive; }
    // The same of the receive buffer alone.
    void receive_into(double *receive) { receive_buffer = receive; }

    void pack(const Parcel &parcel);
    void unpack(const Parcel &parcel);
    // The ghosts of a block that this rank has the values of.
    void copy_local(int leaf);

    // The mesh at that time. Collective.
    void refine(int time);
    long moved() const { return moved_blocks; } // blocks that this rank has sent to another one

    // All cells of all blocks in the order of the mesh, on rank 0. Collective.
    std::vector<double> gather() const;

private:
    struct Move; // cells that go from one rank to another
    void exchange(std::vector<Move> &moves);
    std::vector<Move> merge(const Mesh &next, const std::vector<Origin> &origins, const std::vector<int> &makers);
    void make_plan();

    const Settings &set;
    MPI_Comm communicator;
    int my_rank, all_ranks;
    Mesh now;
    Plan faces;
    std::vector<std::unique_ptr<Block>> blocks; // for each leaf; null where another rank has it
    std::vector<double> own_send, own_receive;
    double *send_buffer = nullptr, *receive_buffer = nullptr;
    long moved_blocks = 0;
};

} // namespace amr
