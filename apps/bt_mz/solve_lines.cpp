// SPDX-License-Identifier: BSD-3-Clause
// The implicit part of a time step: along each direction, every line of cells is a block-tridiagonal system. Its blocks
// come from the Jacobians of the inviscid flux and of the viscous one. The change of cells at the ends of a line is
// zero, so that the system has the inner cells only. After the NAS Parallel Benchmarks 3.3 (NASA Ames).
#include "block.hpp"
#include "zone.hpp"

namespace bt_mz {
namespace {

// The Jacobians of one cell along direction D.
struct Jacobians {
    Block inviscid, viscous;
};

template <int D, class Derived> void fill(Jacobians &out, const double *u, const Derived &d) {
    constexpr int along = 1 + D;
    out = {};
    const double *velocity = d.velocity; // of component q of momentum: velocity[q - 1]
    const double v = velocity[D], r = d.rho_inverse;

    auto &f = out.inviscid.at;
    f[0][along] = 1;
    for (int q = 1; q < 4; ++q) {
        f[q][0] = -v * velocity[q - 1];
        f[q][along] = velocity[q - 1];
        f[q][q] = v;
        f[4][q] = -c2 * velocity[q - 1] * v;
    }
    f[along][0] += c2 * d.specific;
    for (int q = 1; q < 4; ++q) {
        f[along][q] = q == along ? (2.0 - c2) * v : -c2 * velocity[q - 1];
    }
    f[along][4] = c2;
    f[4][0] = (2.0 * c2 * d.energy - c1 * u[4]) * v * r;
    f[4][along] = c1 * u[4] * r - c2 * (v * v + d.specific);
    f[4][4] = c1 * v;

    auto &n = out.viscous.at;
    n[4][0] = -c1345 * r * r * u[4];
    for (int q = 1; q < 4; ++q) {
        const double viscosity = q == along ? con43 * c3c4 : c3c4;
        n[q][0] = -viscosity * r * velocity[q - 1];
        n[q][q] = viscosity * r;
        n[4][0] -= (viscosity - c1345) * r * velocity[q - 1] * velocity[q - 1];
        n[4][q] = (viscosity - c1345) * r * velocity[q - 1];
    }
    n[4][4] = c1345 * r;
}

// out = a inviscid + b viscous, and `diagonal` on the diagonal besides
void combine(Block &out, double a, double b, double diagonal, const Jacobians &j) {
    for (int m = 0; m < components; ++m) {
        for (int n = 0; n < components; ++n) {
            out.at[m][n] = a * j.inviscid.at[m][n] + b * j.viscous.at[m][n];
        }
        out.at[m][m] += diagonal;
    }
}

} // namespace

template <int D> void Zone::solve_line(std::size_t first) {
    const Direction &d = constants.direction[D];
    const double t1 = constants.dt * d.t1, t2 = constants.dt * d.t2, diffusion = t1 * d.diffusion;
    const int n = length(D);
    const auto s = static_cast<std::size_t>(stride(D));
    thread_local std::vector<Block> upper; // of the row of each cell, divided by its diagonal block
    if (upper.size() < static_cast<std::size_t>(n)) {
        upper.resize(static_cast<std::size_t>(n));
    }

    Jacobians around[3]; // of cells i - 1, i and i + 1, at their index modulo 3
    const auto fill_at = [&](int i) {
        const std::size_t c = first + static_cast<std::size_t>(i) * s;
        fill<D>(around[i % 3], solution(c), derived[c]);
    };
    fill_at(0);
    fill_at(1);
    for (int i = 1; i < n - 1; ++i) {
        fill_at(i + 1);
        double *r = right(first + static_cast<std::size_t>(i) * s);
        Block diagonal, &above = upper[static_cast<std::size_t>(i)];
        combine(diagonal, 0, 2 * t1, 1 + 2 * diffusion, around[i % 3]);
        combine(above, t2, -t1, -diffusion, around[(i + 1) % 3]);
        if (i > 1) {
            Block below;
            combine(below, -t2, -t1, -diffusion, around[(i - 1) % 3]);
            subtract_product(r, below, r - components * s);
            subtract_product(diagonal, below, upper[static_cast<std::size_t>(i) - 1]);
        }
        divide(diagonal, above, r);
    }
    for (int i = n - 3; i >= 1; --i) {
        double *r = right(first + static_cast<std::size_t>(i) * s);
        subtract_product(r, upper[static_cast<std::size_t>(i)], r + components * s);
    }
}

void Zone::solve_x(int begin, int end) {
    for (int k = begin; k < end; ++k) {
        for (int j = 1; j < shape.ny - 1; ++j) {
            solve_line<0>(cell(0, j, k));
        }
    }
}

void Zone::solve_y(int begin, int end) {
    for (int k = begin; k < end; ++k) {
        for (int i = 1; i < shape.nx - 1; ++i) {
            solve_line<1>(cell(i, 0, k));
        }
    }
}

void Zone::solve_z(int begin, int end) {
    for (int j = begin; j < end; ++j) {
        for (int i = 1; i < shape.nx - 1; ++i) {
            solve_line<2>(cell(i, j, 0));
        }
    }
}

void Zone::add(int begin, int end) {
    for (int k = 1; k < shape.nz - 1; ++k) {
        for (int j = begin; j < end; ++j) {
            for (std::size_t c = components * cell(1, j, k); c < components * cell(shape.nx - 1, j, k); ++c) {
                u[c] += rhs[c];
            }
        }
    }
}

} // namespace bt_mz
