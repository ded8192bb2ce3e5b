// SPDX-License-Identifier: BSD-3-Clause
// Blocks of 5 x 5 numbers, and what the solution of a block-tridiagonal system does with them.
#pragma once

#include "problem.hpp"

namespace bt_mz {

struct Block {
    double at[components][components];
};

// b -= a c
inline void subtract_product(Block &b, const Block &a, const Block &c) {
    for (int m = 0; m < components; ++m) {
        for (int l = 0; l < components; ++l) {
            for (int n = 0; n < components; ++n) {
                b.at[m][n] -= a.at[m][l] * c.at[l][n];
            }
        }
    }
}

// r -= a x
inline void subtract_product(double *r, const Block &a, const double *x) {
    for (int m = 0; m < components; ++m) {
        for (int l = 0; l < components; ++l) {
            r[m] -= a.at[m][l] * x[l];
        }
    }
}

// c = b^-1 c and r = b^-1 r by Gauss-Jordan elimination without pivoting; b is used up. The diagonal dominates, since b
// is the identity plus terms of the order of the time step.
inline void divide(Block &b, Block &c, double *r) {
    for (int p = 0; p < components; ++p) {
        const double pivot = 1.0 / b.at[p][p];
        for (int n = p + 1; n < components; ++n) {
            b.at[p][n] *= pivot;
        }
        for (int n = 0; n < components; ++n) {
            c.at[p][n] *= pivot;
        }
        r[p] *= pivot;
        for (int m = 0; m < components; ++m) {
            if (m == p) {
                continue;
            }
            const double factor = b.at[m][p];
            for (int n = p + 1; n < components; ++n) {
                b.at[m][n] -= factor * b.at[p][n];
            }
            for (int n = 0; n < components; ++n) {
                c.at[m][n] -= factor * c.at[p][n];
            }
            r[m] -= factor * r[p];
        }
    }
}

} // namespace bt_mz
