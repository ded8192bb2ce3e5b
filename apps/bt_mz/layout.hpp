// SPDX-License-Identifier: BSD-3-Clause
// How the mesh is cut into zones and how the zones are given to ranks. The zones are a torus in x and y: each has four
// neighbours, and a zone may be its neighbour's neighbour on both sides. In z nothing is cut.
#pragma once

#include "problem.hpp"

#include <vector>

namespace bt_mz {

// The sides of a zone that have a neighbour. The opposite side differs in the last bit.
enum Side { west, east, south, north };
constexpr int sides = 4;
constexpr Side opposite(Side s) {
    return static_cast<Side>(s ^ 1);
}

struct ZoneShape {
    int number = 0;          // row * zones_x + column
    int column = 0, row = 0; // in the grid of zones
    int nx = 0, ny = 0, nz = 0;
    int neighbour[sides] = {};

    long cells() const { return static_cast<long>(nx) * ny * nz; }
    // Cells of a face that is exchanged: those that are on no edge.
    int face_cells(Side s) const { return (s < south ? ny - 2 : nx - 2) * (nz - 2); }
};

// All zones of a class, by number. The widths grow from west to east and from south to north by a constant factor.
std::vector<ZoneShape> make_zones(const Problem &problem);

// The rank of every zone: the zones in the order of falling size, each to the rank that has the fewest cells so far.
// There must be at least as many zones as ranks; then no rank is without a zone.
std::vector<int> distribute(const std::vector<ZoneShape> &zones, int ranks);

} // namespace bt_mz
