// SPDX-License-Identifier: BSD-3-Clause
// What is done with tiles, in BLAS and LAPACK. Lower triangle, by columns; `edge` is the distance between columns.
#pragma once

#include <cblas.h>

extern "C" void dpotrf_(const char *uplo, const int *order, double *a, const int *distance, int *info);

namespace cholesky {

// A = L L^T; L takes its place. Returns 0, or the order of the first leading minor that is not positive.
inline int potrf(int order, double *a, int edge) {
    int info = 0;
    dpotrf_("L", &order, a, &edge, &info);
    return info;
}
// A := A L^-T, A of rows x order
inline void trsm(int rows, int order, const double *l, double *a, int edge) {
    cblas_dtrsm(CblasColMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, rows, order, 1, l, edge, a, edge);
}
// C := C - A A^T, its lower triangle; A of order x inner
inline void syrk(int order, int inner, const double *a, double *c, int edge) {
    cblas_dsyrk(CblasColMajor, CblasLower, CblasNoTrans, order, inner, -1, a, edge, 1, c, edge);
}
// C := C - A B^T, C of rows x columns
inline void gemm(int rows, int columns, int inner, const double *a, const double *b, double *c, int edge) {
    cblas_dgemm(CblasColMajor, CblasNoTrans, CblasTrans, rows, columns, inner, -1, a, edge, b, edge, 1, c, edge);
}

// Tasks and loops bring the threads: each call of a kernel uses one.
inline void one_thread_per_kernel() {
    openblas_set_num_threads(1);
}

} // namespace cholesky
