// SPDX-License-Identifier: BSD-3-Clause
// The right side of a time step: forcing, differences of the fluxes along the three directions, and artificial
// dissipation of fourth order, times the time step. After the NAS Parallel Benchmarks 3.3 (NASA Ames).
#include "zone.hpp"

namespace bt_mz {
namespace {

double second_difference(double left, double middle, double right) {
    return right - 2.0 * middle + left;
}

// The fourth difference at a position of a line of `n` cells. Beside the ends the terms outside are left out.
struct Stencil {
    double weight[5];
    std::ptrdiff_t offset[5]; // 0 for a term that is left out

    Stencil(int position, int n, std::ptrdiff_t stride)
        : weight{1, -4, 6, -4, 1}, offset{-2 * stride, -stride, 0, stride, 2 * stride} {
        const int before = position - 1, after = n - 2 - position; // inner cells on each side
        if (before < 2) {
            drop(0);
        }
        if (before < 1) {
            drop(1), weight[2] = 5;
        }
        if (after < 2) {
            drop(4);
        }
        if (after < 1) {
            drop(3), weight[2] = 5;
        }
    }
    double apply(const double *u) const {
        double sum = 0;
        for (int t = 0; t < 5; ++t) {
            sum += weight[t] * u[components * offset[t]];
        }
        return sum;
    }

private:
    void drop(int t) { weight[t] = 0, offset[t] = 0; }
};

} // namespace

void Zone::derive(int begin, int end) {
    for (std::size_t c = cell(0, 0, begin); c < cell(0, 0, end); ++c) {
        const double *s = solution(c);
        Derived &d = derived[c];
        d.rho_inverse = 1.0 / s[0];
        for (int x = 0; x < 3; ++x) {
            d.velocity[x] = s[1 + x] * d.rho_inverse;
        }
        d.energy = 0.5 * (s[1] * s[1] + s[2] * s[2] + s[3] * s[3]) * d.rho_inverse;
        d.specific = d.energy * d.rho_inverse;
    }
}

void Zone::right_side(int begin, int end) {
    for (int k = begin; k < end; ++k) {
        for (int j = 1; j < shape.ny - 1; ++j) {
            const std::size_t first = components * cell(1, j, k), last = components * cell(shape.nx - 1, j, k);
            for (std::size_t c = first; c < last; ++c) {
                rhs[c] = forcing[c];
            }
            add_fluxes<0>(j, k);
            add_dissipation(0, j, k);
            add_fluxes<1>(j, k);
            add_dissipation(1, j, k);
            add_fluxes<2>(j, k);
            add_dissipation(2, j, k);
            for (std::size_t c = first; c < last; ++c) {
                rhs[c] *= constants.dt;
            }
        }
    }
}

template <int D> void Zone::add_fluxes(int j, int k) {
    constexpr int along = 1 + D; // the component of momentum along the direction
    const Direction &d = constants.direction[D];
    const double diffusion = d.diffusion * d.t1;
    const double conduction = (1.0 - c1c5) * d.viscous, kinetic = con16 * d.viscous, inner = c1c5 * d.viscous;
    const std::ptrdiff_t s = stride(D);
    for (int i = 1; i < shape.nx - 1; ++i) {
        const std::size_t c = cell(i, j, k);
        const double *middle = solution(c), *left = middle - components * s, *right_ = middle + components * s;
        const Derived &dm = derived[c], &dl = *(&dm - s), &dr = *(&dm + s);
        const double vl = dl.velocity[D], vm = dm.velocity[D], vr = dr.velocity[D];
        double *r = right(c);

        r[0] += diffusion * second_difference(left[0], middle[0], right_[0]) - d.t2 * (right_[along] - left[along]);
        for (int q = 1; q < 4; ++q) {
            double flux = right_[q] * vr - left[q] * vl;
            if (q == along) {
                flux += c2 * (right_[4] - dr.energy - left[4] + dl.energy);
            }
            r[q] += diffusion * second_difference(left[q], middle[q], right_[q]) +
                    (q == along ? con43 : 1.0) * d.viscous *
                        second_difference(dl.velocity[q - 1], dm.velocity[q - 1], dr.velocity[q - 1]) -
                    d.t2 * flux;
        }
        r[4] += diffusion * second_difference(left[4], middle[4], right_[4]) +
                conduction * second_difference(dl.specific, dm.specific, dr.specific) +
                kinetic * second_difference(vl * vl, vm * vm, vr * vr) +
                inner * second_difference(left[4] * dl.rho_inverse, middle[4] * dm.rho_inverse,
                                          right_[4] * dr.rho_inverse) -
                d.t2 * ((c1 * right_[4] - c2 * dr.energy) * vr - (c1 * left[4] - c2 * dl.energy) * vl);
    }
}

void Zone::add_dissipation(int direction, int j, int k) {
    const std::ptrdiff_t s = stride(direction);
    const auto apply = [&](const Stencil &stencil, int begin, int end) {
        const double *v = solution(cell(begin, j, k));
        double *r = right(cell(begin, j, k));
        for (int m = 0; m < components * (end - begin); ++m) {
            r[m] -= constants.fourth_order * stencil.apply(v + m);
        }
    };
    const int n = shape.nx;
    if (direction != 0) {
        apply(Stencil(direction == 1 ? j : k, length(direction), s), 1, n - 1);
        return;
    }
    for (const int i : {1, 2, n - 3, n - 2}) {
        apply(Stencil(i, n, s), i, i + 1);
    }
    apply(Stencil(3, n, s), 3, n - 3);
}

} // namespace bt_mz
