// SPDX-License-Identifier: BSD-3-Clause
#include "tiles.hpp"

#include "common/check.hpp"

#include <algorithm>
#include <cblas.h>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

extern "C" {
void dgeqrt_(const int *m, const int *n, const int *nb, double *a, const int *lda, double *t, const int *ldt,
             double *work, int *info);
void dgemqrt_(const char *side, const char *trans, const int *m, const int *n, const int *k, const int *nb,
              const double *v, const int *ldv, const double *t, const int *ldt, double *c, const int *ldc, double *work,
              int *info);
void dtpqrt_(const int *m, const int *n, const int *l, const int *nb, double *a, const int *lda, double *b,
             const int *ldb, double *t, const int *ldt, double *work, int *info);
void dtpmqrt_(const char *side, const char *trans, const int *m, const int *n, const int *k, const int *l,
              const int *nb, const double *v, const int *ldv, const double *t, const int *ldt, double *a,
              const int *lda, double *b, const int *ldb, double *work, int *info);
}

namespace qr {

namespace {

// The workspace of kernels on this thread.
double *workspace(int columns) {
    thread_local std::vector<double> room;
    room.resize(std::max(room.size(), static_cast<std::size_t>(inner) * static_cast<std::size_t>(columns)));
    return room.data();
}

// Kernels fail only on wrong arguments, which would be a fault of this program.
void expect(int info, const char *kernel) {
    if (info != 0) {
        std::fprintf(stderr, "qr: %s refuses its argument %d\n", kernel, -info);
        std::abort();
    }
}

constexpr int ldt = inner;

} // namespace

double element(int row, int column) {
    std::uint64_t x =
        (static_cast<std::uint64_t>(row) << 32 | static_cast<std::uint64_t>(column)) + 0x9e3779b97f4a7c15U;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
    x ^= x >> 31;
    return static_cast<double>(x >> 11) * 0x1p-53 - 0.5;
}

void fill(const Shape &shape, int i, int j, double *tile) {
    for (int c = 0; c < shape.width(j); ++c) {
        for (int r = 0; r < shape.height(i); ++r) {
            tile[c * shape.tile + r] = element(i * shape.tile + r, j * shape.tile + c);
        }
    }
}

void geqrt(int rows, int columns, double *a, double *t, int edge) {
    const int block = std::min({inner, rows, columns});
    int info = 0;
    dgeqrt_(&rows, &columns, &block, a, &edge, t, &ldt, workspace(columns), &info);
    expect(info, "dgeqrt");
}

void gemqrt(bool transposed, int rows, int columns, int reflectors, const double *v, const double *t, double *c,
            int edge) {
    const int block = std::min(inner, reflectors);
    int info = 0;
    dgemqrt_("L", transposed ? "T" : "N", &rows, &columns, &reflectors, &block, v, &edge, t, &ldt, c, &edge,
             workspace(columns), &info);
    expect(info, "dgemqrt");
}

void tpqrt(bool triangular, int rows, int columns, double *r, double *b, double *t, int edge) {
    rows = triangular ? std::min(rows, columns) : rows; // below its triangle the tile has reflectors of its own
    const int trapezoid = triangular ? rows : 0;
    const int block = std::min(inner, columns);
    int info = 0;
    dtpqrt_(&rows, &columns, &trapezoid, &block, r, &edge, b, &edge, t, &ldt, workspace(columns), &info);
    expect(info, "dtpqrt");
}

void tpmqrt(bool transposed, bool triangular, int rows, int columns, int reflectors, const double *v, const double *t,
            double *c, double *d, int edge) {
    rows = triangular ? std::min(rows, reflectors) : rows;
    const int trapezoid = triangular ? rows : 0;
    const int block = std::min(inner, reflectors);
    int info = 0;
    dtpmqrt_("L", transposed ? "T" : "N", &rows, &columns, &reflectors, &trapezoid, &block, v, &edge, t, &ldt, c, &edge,
             d, &edge, workspace(columns), &info);
    expect(info, "dtpmqrt");
}

void one_thread_per_kernel() {
    openblas_set_num_threads(1);
}

} // namespace qr
