// SPDX-License-Identifier: BSD-3-Clause
// Which faces of one mesh go where, seen from one rank: copies between its own blocks, and messages. A rank has one
// buffer for all that it sends and one for all that it receives, and each message has its part of them.
//
// Invariant: the messages from one rank to another are the same ones in the same order on both, since both make them
// from the same mesh.
#pragma once

#include "block.hpp"

namespace amr {

struct Parcel {
    int peer;
    int number;                // among the messages from one rank to the other
    std::size_t offset, count; // in the buffer, in numbers
    std::vector<Transfer> transfers;
};

class Plan {
public:
    Plan() = default;
    Plan(const Settings &settings, const Mesh &mesh, int rank);

    std::vector<int> mine;                             // leaves of this rank
    std::vector<std::vector<Transfer>> local;          // for each leaf of the mesh: faces that blocks of this rank have
    std::vector<std::vector<int>> walls;               // for each leaf of the mesh: faces at a wall
    std::vector<Parcel> outgoing, incoming;            // in the order of peers
    std::size_t send_numbers = 0, receive_numbers = 0; // in the two buffers
};

} // namespace amr
