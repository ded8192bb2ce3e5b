// SPDX-License-Identifier: BSD-3-Clause
// The right-looking factorization, tile by tile:
//
//     for each k:  L(k,k) from A(k,k);  L(i,k) = A(i,k) L(k,k)^-T for i > k;  A(i,j) -= L(i,k) L(j,k)^T for i >= j > k
//
// This file has the operations on tiles. The benchmark compares two ways to schedule them and to send L(i,k) to the
// ranks that use it. If the matrix is not positive definite, one rank detects it and the others are informed at the
// end; what they compute until then is meaningless, but does no harm.
#pragma once

#include "kernels.hpp"
#include "matrix.hpp"

#include <atomic>
#include <climits>
#include <stdexcept>
#include <string>

namespace cholesky {

class tile_operations {
public:
    explicit tile_operations(matrix &a) : a_(a) {}

    void factorize_diagonal(int k) {
        if (const int minor = potrf(a_.extent(k), a_.tile(k, k), a_.edge()); minor > 0) {
            const int found = k * a_.edge() + minor;
            for (int first = failed_.load(); found < first && !failed_.compare_exchange_weak(first, found);) {
            }
        }
    }
    void solve(int i, int k, const double *diagonal) {
        trsm(a_.extent(i), a_.extent(k), diagonal, a_.tile(i, k), a_.edge());
    }
    void update(int i, int j, int k, const double *left, const double *above) {
        if (i == j) {
            syrk(a_.extent(i), a_.extent(k), left, a_.tile(i, i), a_.edge());
        } else {
            gemm(a_.extent(i), a_.extent(j), a_.extent(k), left, above, a_.tile(i, j), a_.edge());
        }
    }
    // Called on all ranks after all operations. Throws on every rank if the matrix was not positive definite.
    void finish() {
        int first = failed_.load();
        MPI_Allreduce(MPI_IN_PLACE, &first, 1, MPI_INT, MPI_MIN, a_.over().all());
        if (first != INT_MAX) {
            throw std::domain_error("cholesky: the matrix is not positive definite: its leading minor of order " +
                                    std::to_string(first) + " is not");
        }
    }

private:
    matrix &a_;
    std::atomic<int> failed_{INT_MAX};
};

} // namespace cholesky
