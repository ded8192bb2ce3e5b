// SPDX-License-Identifier: BSD-3-Clause
// The difference of L L^T and A, without gathering either matrix: both are multiplied with the same vector.
#pragma once

#include "matrix.hpp"

#include <cfloat>
#include <cmath>
#include <vector>

namespace cholesky {

// Calls f(row, column, element) for all elements of the lower triangle that this rank owns.
template <class F> void for_each_element(const matrix &a, F &&f) {
    for (int j = 0; j < a.tiles(); ++j) {
        for (int i = j; i < a.tiles(); ++i) {
            if (const double *const tile = a.tile(i, j); tile != nullptr) {
                for (int c = 0; c < a.extent(j); ++c) {
                    for (int r = i == j ? c : 0; r < a.extent(i); ++r) {
                        f(i * a.edge() + r, j * a.edge() + c,
                          tile[static_cast<std::size_t>(c) * static_cast<std::size_t>(a.edge()) +
                               static_cast<std::size_t>(r)]);
                    }
                }
            }
        }
    }
}

// |A x - L L^T x| / (n eps |A| |x|) in the infinity norm, the same on all ranks. It is a few units if L is right.
inline double residual(const matrix &a, const matrix &l) {
    const auto order = static_cast<std::size_t>(a.order());
    std::vector<double> x(order), ltx(order), difference(order), row_sum(order);
    for (std::size_t i = 0; i < order; ++i) {
        x[i] = 1 - 2 * static_cast<double>(i % 3) / 3;
    }
    const auto sum_over_ranks = [&](std::vector<double> &values) {
        MPI_Allreduce(MPI_IN_PLACE, values.data(), a.order(), MPI_DOUBLE, MPI_SUM, a.over().all());
    };
    for_each_element(l, [&](int r, int c, double value) { ltx[c] += value * x[r]; });
    sum_over_ranks(ltx);
    for_each_element(l, [&](int r, int c, double value) { difference[r] -= value * ltx[c]; });
    for_each_element(a, [&](int r, int c, double value) {
        difference[r] += value * x[c];
        row_sum[r] += std::abs(value);
        if (r != c) {
            difference[c] += value * x[r];
            row_sum[c] += std::abs(value);
        }
    });
    sum_over_ranks(difference);
    sum_over_ranks(row_sum);
    double largest = 0;
    double norm = 0;
    for (std::size_t i = 0; i < order; ++i) {
        if (!(std::abs(difference[i]) <= largest)) { // true for NaN, too
            largest = std::abs(difference[i]);
        }
        norm = std::max(norm, row_sum[i]);
    }
    return largest / (a.order() * DBL_EPSILON * norm);
}

} // namespace cholesky
