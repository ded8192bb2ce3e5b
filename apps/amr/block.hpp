// SPDX-License-Identifier: BSD-3-Clause
// The cells of one block, with a layer of cells around them (ghosts) that copies of the neighbours' faces fill.
#pragma once

#include "mesh.hpp"

#include <vector>

namespace amr {

// One face of block `to`, or a quarter of it, that block `from` has. From a block of the same level it is sent as it
// is; from a coarser one, the quarter that touches; from a finer one, means of four cells.
struct Transfer {
    int from, to;
    int face; // of `to`
    Neighbour::Kind kind;
    int quarter;

    int numbers(const Settings &s) const {
        const int edge = kind == Neighbour::same ? s.block : s.block / 2;
        return edge * edge * s.variables;
    }
};

class Block {
public:
    explicit Block(const Settings &settings);

    // The starting values, which depend on the place alone.
    void fill(const Leaf &leaf);
    // Each cell becomes the mean of itself and its six neighbours. `scratch`: of the calling thread.
    void stencil(std::vector<double> &scratch);

    // Copies what `transfer` takes from this block to `out`, or into the ghosts of this block from `in`. Returns the
    // end.
    double *pack(const Transfer &transfer, double *out) const;
    const double *unpack(const Transfer &transfer, const double *in);
    // At a wall the ghosts are the cells beside them.
    void fill_wall(int face);

    // All cells without ghosts, variable by variable.
    void save(double *out) const;
    void load(const double *in);
    // An eighth of the cells as means of eight, and their place in a block that is coarser.
    void save_coarser(double *out) const;
    void load_eighth(int octant, const double *in);
    // This block becomes an eighth of `parent`, whose cells are copied to eight each.
    void refine(const Block &parent, int octant);

    static int cells(const Settings &s) { return s.block * s.block * s.block * s.variables; }

private:
    std::size_t at(int v, int x, int y, int z) const {
        const auto m = static_cast<std::size_t>(n) + 2;
        return ((static_cast<std::size_t>(v) * m + static_cast<std::size_t>(z)) * m + static_cast<std::size_t>(y)) * m +
               static_cast<std::size_t>(x);
    }
    // A cell of the layer `depth` (0 and n+1 are ghosts) at a face.
    std::size_t at_face(int v, int axis, int depth, int u, int w) const {
        return axis == 0 ? at(v, depth, u, w) : axis == 1 ? at(v, u, depth, w) : at(v, u, w, depth);
    }

    const Settings *settings;
    int n;
    std::vector<double> values;
};

} // namespace amr
