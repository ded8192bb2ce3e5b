// SPDX-License-Identifier: BSD-3-Clause
// Sums are in a fixed order, and this file is compiled with -ffp-contract=off: the cells are the same bit for bit,
// whichever ranks own the blocks.
#include "block.hpp"

namespace amr {
namespace {

// The smallest index (from 1) of a half of an edge.
int half(int n, int which) {
    return 1 + which * (n / 2);
}

} // namespace

Block::Block(const Settings &s)
    : settings(&s), n(s.block), values(at(s.variables, 0, 0, 0)) {} // one past the last variable: their number

void Block::fill(const Leaf &leaf) {
    const auto low = leaf.low(*settings), high = leaf.high(*settings);
    for (int v = 0; v < settings->variables; ++v) {
        for (int z = 1; z <= n; ++z) {
            for (int y = 1; y <= n; ++y) {
                for (int x = 1; x <= n; ++x) {
                    const double px = low[0] + (high[0] - low[0]) * (x - 0.5) / n;
                    const double py = low[1] + (high[1] - low[1]) * (y - 0.5) / n;
                    const double pz = low[2] + (high[2] - low[2]) * (z - 0.5) / n;
                    values[at(v, x, y, z)] = 1 + v + px * (1 - py) + pz * pz + (px > py ? 0.5 : 0.0);
                }
            }
        }
    }
}

void Block::stencil(std::vector<double> &scratch) {
    constexpr double seventh = 1.0 / 7.0;
    const auto m = static_cast<std::size_t>(n) + 2;
    scratch.resize(static_cast<std::size_t>(n) * static_cast<std::size_t>(n) * static_cast<std::size_t>(n));
    for (int v = 0; v < settings->variables; ++v) {
        double *out = scratch.data();
        for (int z = 1; z <= n; ++z) {
            for (int y = 1; y <= n; ++y) {
                const double *c = &values[at(v, 1, y, z)];
                const double *down = c - m, *up = c + m, *back = c - m * m, *front = c + m * m;
                for (int x = 0; x < n; ++x) {
                    *out++ = ((((((c[x] + c[x - 1]) + c[x + 1]) + down[x]) + up[x]) + back[x]) + front[x]) * seventh;
                }
            }
        }
        const double *in = scratch.data();
        for (int z = 1; z <= n; ++z) {
            for (int y = 1; y <= n; ++y) {
                double *c = &values[at(v, 1, y, z)];
                for (int x = 0; x < n; ++x) {
                    c[x] = *in++;
                }
            }
        }
    }
}

double *Block::pack(const Transfer &t, double *out) const {
    const int axis = t.face / 2, depth = t.face % 2 == 0 ? n : 1; // the layer that touches the other block
    for (int v = 0; v < settings->variables; ++v) {
        if (t.kind == Neighbour::finer) { // this block is the finer one
            for (int w = 1; w <= n; w += 2) {
                for (int u = 1; u <= n; u += 2) {
                    *out++ =
                        0.25 *
                        ((values[at_face(v, axis, depth, u, w)] + values[at_face(v, axis, depth, u + 1, w)]) +
                         (values[at_face(v, axis, depth, u, w + 1)] + values[at_face(v, axis, depth, u + 1, w + 1)]));
                }
            }
            continue;
        }
        const bool whole = t.kind == Neighbour::same;
        const int u0 = whole ? 1 : half(n, t.quarter & 1), w0 = whole ? 1 : half(n, t.quarter >> 1);
        const int edge = whole ? n : n / 2;
        for (int w = w0; w < w0 + edge; ++w) {
            for (int u = u0; u < u0 + edge; ++u) {
                *out++ = values[at_face(v, axis, depth, u, w)];
            }
        }
    }
    return out;
}

const double *Block::unpack(const Transfer &t, const double *in) {
    const int axis = t.face / 2, depth = t.face % 2 == 0 ? 0 : n + 1;
    const bool quarter = t.kind == Neighbour::finer;
    const int u0 = quarter ? half(n, t.quarter & 1) : 1, w0 = quarter ? half(n, t.quarter >> 1) : 1;
    for (int v = 0; v < settings->variables; ++v) {
        if (t.kind == Neighbour::coarser) {
            for (int w = 1; w <= n; w += 2) {
                for (int u = 1; u <= n; u += 2) {
                    for (int k = 0; k < 4; ++k) {
                        values[at_face(v, axis, depth, u + (k & 1), w + (k >> 1))] = *in;
                    }
                    ++in;
                }
            }
            continue;
        }
        const int edge = quarter ? n / 2 : n;
        for (int w = w0; w < w0 + edge; ++w) {
            for (int u = u0; u < u0 + edge; ++u) {
                values[at_face(v, axis, depth, u, w)] = *in++;
            }
        }
    }
    return in;
}

void Block::fill_wall(int face) {
    const int axis = face / 2, ghost = face % 2 == 0 ? 0 : n + 1, inner = face % 2 == 0 ? 1 : n;
    for (int v = 0; v < settings->variables; ++v) {
        for (int w = 1; w <= n; ++w) {
            for (int u = 1; u <= n; ++u) {
                values[at_face(v, axis, ghost, u, w)] = values[at_face(v, axis, inner, u, w)];
            }
        }
    }
}

void Block::save(double *out) const {
    for (int v = 0; v < settings->variables; ++v) {
        for (int z = 1; z <= n; ++z) {
            for (int y = 1; y <= n; ++y) {
                for (int x = 1; x <= n; ++x) {
                    *out++ = values[at(v, x, y, z)];
                }
            }
        }
    }
}

void Block::load(const double *in) {
    for (int v = 0; v < settings->variables; ++v) {
        for (int z = 1; z <= n; ++z) {
            for (int y = 1; y <= n; ++y) {
                for (int x = 1; x <= n; ++x) {
                    values[at(v, x, y, z)] = *in++;
                }
            }
        }
    }
}

void Block::save_coarser(double *out) const {
    for (int v = 0; v < settings->variables; ++v) {
        for (int z = 1; z <= n; z += 2) {
            for (int y = 1; y <= n; y += 2) {
                for (int x = 1; x <= n; x += 2) {
                    double sum = 0;
                    for (int k = 0; k < 8; ++k) {
                        sum += values[at(v, x + (k & 1), y + (k >> 1 & 1), z + (k >> 2))];
                    }
                    *out++ = 0.125 * sum;
                }
            }
        }
    }
}

void Block::load_eighth(int octant, const double *in) {
    const int x0 = half(n, octant & 1), y0 = half(n, octant >> 1 & 1), z0 = half(n, octant >> 2);
    for (int v = 0; v < settings->variables; ++v) {
        for (int z = z0; z < z0 + n / 2; ++z) {
            for (int y = y0; y < y0 + n / 2; ++y) {
                for (int x = x0; x < x0 + n / 2; ++x) {
                    values[at(v, x, y, z)] = *in++;
                }
            }
        }
    }
}

void Block::refine(const Block &parent, int octant) {
    const int x0 = half(n, octant & 1), y0 = half(n, octant >> 1 & 1), z0 = half(n, octant >> 2);
    for (int v = 0; v < settings->variables; ++v) {
        for (int z = 0; z < n; ++z) {
            for (int y = 0; y < n; ++y) {
                for (int x = 0; x < n; ++x) {
                    values[at(v, x + 1, y + 1, z + 1)] = parent.values[at(v, x0 + x / 2, y0 + y / 2, z0 + z / 2)];
                }
            }
        }
    }
}

} // namespace amr
