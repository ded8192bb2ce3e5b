// SPDX-License-Identifier: BSD-3-Clause
// The operations on tiles: calls of BLAS and LAPACK. Lower triangle, column-major; `edge` is the leading dimension.
#pragma once

#include <cblas.h>

extern "C" void dpotrf_(const char *uplo, const int *order, double *a, const int *distance, int *info);

namespace cholesky {

// Factorizes A = L L^T and overwrites A with L. Returns 0, or the order of the first leading minor that is not
// positive.
inline int potrf(int order, double *a, int edge) {
    int info = 0;
    dpotrf_("L", &order, a, &edge, &info);
    return info;
}
// A := A L^-T, A is rows x order
inline void trsm(int rows, int order, const double *l, double *a, int edge) {
    cblas_dtrsm(CblasColMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, rows, order, 1, l, edge, a, edge);
}
// C := C - A A^T, its lower triangle; A is order x inner
inline void syrk(int order, int inner, const double *a, double *c, int edge) {
    cblas_dsyrk(CblasColMajor, CblasLower, CblasNoTrans, order, inner, -1, a, edge, 1, c, edge);
}
// C := C - A B^T, C is rows x columns
inline void gemm(int rows, int columns, int inner, const double *a, const double *b, double *c, int edge) {
    cblas_dgemm(CblasColMajor, CblasNoTrans, CblasTrans, rows, columns, inner, -1, a, edge, b, edge, 1, c, edge);
}

// Each call of a kernel uses one thread, since tasks and loops run kernels in parallel.
inline void one_thread_per_kernel() {
    openblas_set_num_threads(1);
}

} // namespace cholesky
