// SPDX-License-Identifier: BSD-3-Clause
// The exact solution: in each component a polynomial of degree 4 in x, y and z, without mixed terms. After the NAS
// Parallel Benchmarks 3.3 (NASA Ames): its coefficients.
#pragma once

#include "problem.hpp"

namespace bt_mz {

inline Norms exact_solution(double x, double y, double z) {
    // Constant, then the coefficients of x, y, z, of their squares, cubes and fourth powers.
    constexpr double coefficients[components][13] = {
        {2, 0, 0, 4, 5, 3, 0.5, 0.02, 0.01, 0.03, 0.5, 0.4, 0.3},
        {1, 0, 0, 0, 1, 2, 3, 0.01, 0.03, 0.02, 0.4, 0.3, 0.5},
        {2, 2, 0, 0, 0, 2, 3, 0.04, 0.03, 0.05, 0.3, 0.5, 0.4},
        {2, 2, 0, 0, 0, 2, 3, 0.03, 0.05, 0.04, 0.2, 0.1, 0.3},
        {5, 4, 3, 2, 0.1, 0.4, 0.3, 0.05, 0.04, 0.03, 0.1, 0.3, 0.2},
    };
    const double at[3] = {x, y, z};
    Norms value;
    for (int m = 0; m < components; ++m) {
        const double *c = coefficients[m];
        value[static_cast<std::size_t>(m)] = c[0];
        for (int d = 0; d < 3; ++d) {
            value[static_cast<std::size_t>(m)] +=
                at[d] * (c[1 + d] + at[d] * (c[4 + d] + at[d] * (c[7 + d] + at[d] * c[10 + d])));
        }
    }
    return value;
}

} // namespace bt_mz
