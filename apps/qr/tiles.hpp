// SPDX-License-Identifier: BSD-3-Clause
// The matrix in tiles, block-cyclic on a grid of ranks, and the kernels on tiles (LAPACK). Column-major; the last tiles
// of a row and a column may be smaller.
#pragma once

#include <cstddef>
#include <vector>

namespace qr {

struct Shape {
    int rows = 1024, columns = 1024; // rows >= columns
    int tile = 128;
    int grid_rows = 1, grid_columns = 1; // of ranks

    int tile_rows() const { return (rows + tile - 1) / tile; }
    int tile_columns() const { return (columns + tile - 1) / tile; }
    int height(int i) const { return i + 1 < tile_rows() ? tile : rows - i * tile; }
    int width(int j) const { return j + 1 < tile_columns() ? tile : columns - j * tile; }
    int owner(int i, int j) const { return i % grid_rows * grid_columns + j % grid_columns; }
};

// The element that the matrix has at first: pseudo-random in [-0.5, 0.5), the same on every rank.
double element(int row, int column);
void fill(const Shape &shape, int i, int j, double *tile);

constexpr int inner = 32; // block size inside of kernels

// The kernels. `t` has room for `inner` x `columns` values. All tiles have the leading dimension `edge`.
// A = Q R: R in the upper triangle, Q as reflectors below it and in `t`.
void geqrt(int rows, int columns, double *a, double *t, int edge);
// C := Q^T C, or Q C; Q of geqrt() on `v`.
void gemqrt(bool transposed, int rows, int columns, int reflectors, const double *v, const double *t, double *c,
            int edge);
// [R; B] = Q R: B is rows x columns, and with `triangular` an upper triangle.
void tpqrt(bool triangular, int rows, int columns, double *r, double *b, double *t, int edge);
// [C; D] := Q^T [C; D], or Q [C; D]; Q of tpqrt() on `v`, with `reflectors` columns.
void tpmqrt(bool transposed, bool triangular, int rows, int columns, int reflectors, const double *v, const double *t,
            double *c, double *d, int edge);
// Each call of a kernel uses one thread, since tasks and loops run kernels in parallel.
void one_thread_per_kernel();

} // namespace qr
