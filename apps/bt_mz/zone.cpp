// SPDX-License-Identifier: BSD-3-Clause
// Start, faces and norms of a zone. After the NAS Parallel Benchmarks 3.3 (NASA Ames).
#include "zone.hpp"

#include "exact.hpp"

#include <algorithm>
#include <cmath>

namespace bt_mz {

Zone::Zone(const ZoneShape &s, const Constants &c, bool values) : shape(s), constants(c) {
    if (!values) {
        return;
    }
    const auto cells = static_cast<std::size_t>(shape.cells());
    u.resize(components * cells);
    rhs.resize(components * cells);
    forcing.resize(components * cells);
    derived.resize(cells);
    make_forcing();
    initialize();
}

// The forcing is the negative right side of the exact solution, so that this solution would never change.
void Zone::make_forcing() {
    const Direction *d = constants.direction;
    for (int k = 0; k < shape.nz; ++k) {
        for (int j = 0; j < shape.ny; ++j) {
            for (int i = 0; i < shape.nx; ++i) {
                const Norms exact = exact_solution(i * d[0].width, j * d[1].width, k * d[2].width);
                std::copy(exact.begin(), exact.end(), solution(cell(i, j, k)));
            }
        }
    }
    derive(0, shape.nz);
    right_side(1, shape.nz - 1); // the forcing is zero here
    for (int k = 1; k < shape.nz - 1; ++k) {
        for (int j = 1; j < shape.ny - 1; ++j) {
            for (std::size_t c = components * cell(1, j, k); c < components * cell(shape.nx - 1, j, k); ++c) {
                forcing[c] = -rhs[c] / constants.dt; // right_side() has multiplied by dt
            }
        }
    }
}

void Zone::initialize() {
    const Direction *d = constants.direction;
    for (int k = 0; k < shape.nz; ++k) {
        for (int j = 0; j < shape.ny; ++j) {
            for (int i = 0; i < shape.nx; ++i) {
                double at[3] = {i * d[0].width, j * d[1].width, k * d[2].width};
                const int index[3] = {i, j, k};
                // On a face the exact values; a cell of an edge belongs to the face of the higher direction. There the
                // coordinate along that direction is 0 or 1, even if the zone is not as long as an average one.
                int face = -1;
                for (int x = 0; x < 3; ++x) {
                    if (index[x] == 0 || index[x] == length(x) - 1) {
                        face = x;
                    }
                }
                double *value = solution(cell(i, j, k));
                if (face >= 0) {
                    at[face] = index[face] == 0 ? 0.0 : 1.0;
                    const Norms exact = exact_solution(at[0], at[1], at[2]);
                    std::copy(exact.begin(), exact.end(), value);
                    continue;
                }
                // Inside: transfinite interpolation of the exact values on the six faces of the unit cube.
                Norms between[3];
                for (int x = 0; x < 3; ++x) {
                    double low[3] = {at[0], at[1], at[2]}, high[3] = {at[0], at[1], at[2]};
                    low[x] = 0, high[x] = 1;
                    const Norms from = exact_solution(low[0], low[1], low[2]);
                    const Norms to = exact_solution(high[0], high[1], high[2]);
                    for (std::size_t m = 0; m < components; ++m) {
                        between[x][m] = at[x] * to[m] + (1 - at[x]) * from[m];
                    }
                }
                for (std::size_t m = 0; m < components; ++m) {
                    const double a = between[0][m], b = between[1][m], c = between[2][m];
                    value[m] = a + b + c - a * b - a * c - b * c + a * b * c;
                }
            }
        }
    }
}

void Zone::copy_out(Side side, double *face) const {
    const_cast<Zone *>(this)->copy_face(side, true, face, true);
}

void Zone::copy_in(Side side, const double *face) {
    copy_face(side, false, const_cast<double *>(face), false);
}

// Between `face` and the cells of a side, or those beside it.
void Zone::copy_face(Side side, bool beside, double *face, bool out) {
    const int direction = side < south ? 0 : 1, last = length(direction) - 1;
    const bool low = side == west || side == south;
    const int fixed = low ? (beside ? 1 : 0) : (beside ? last - 1 : last);
    const int along = direction == 0 ? shape.ny : shape.nx;
    for (int k = 1; k < shape.nz - 1; ++k) {
        for (int a = 1; a < along - 1; ++a, face += components) {
            double *value = solution(direction == 0 ? cell(fixed, a, k) : cell(a, fixed, k));
            if (out) {
                std::copy_n(value, components, face);
            } else {
                std::copy_n(face, components, value);
            }
        }
    }
}

Norms Zone::error_norms() const {
    const Direction *d = constants.direction;
    Norms sum{};
    for (int k = 0; k < shape.nz; ++k) {
        for (int j = 0; j < shape.ny; ++j) {
            for (int i = 0; i < shape.nx; ++i) {
                const Norms exact = exact_solution(i * d[0].width, j * d[1].width, k * d[2].width);
                for (std::size_t m = 0; m < components; ++m) {
                    const double difference = solution(cell(i, j, k))[m] - exact[m];
                    sum[m] += difference * difference;
                }
            }
        }
    }
    const double inner = static_cast<double>(shape.nx - 2) * (shape.ny - 2) * (shape.nz - 2);
    for (double &s : sum) {
        s = std::sqrt(s / inner);
    }
    return sum;
}

Norms Zone::residual_norms() {
    derive(0, shape.nz);
    right_side(1, shape.nz - 1);
    Norms sum{};
    for (int k = 1; k < shape.nz - 1; ++k) {
        for (int j = 1; j < shape.ny - 1; ++j) {
            for (int i = 1; i < shape.nx - 1; ++i) {
                for (std::size_t m = 0; m < components; ++m) {
                    const double r = right(cell(i, j, k))[m];
                    sum[m] += r * r;
                }
            }
        }
    }
    const double inner = static_cast<double>(shape.nx - 2) * (shape.ny - 2) * (shape.nz - 2);
    for (double &s : sum) {
        s = std::sqrt(s / inner) / constants.dt;
    }
    return sum;
}

} // namespace bt_mz
