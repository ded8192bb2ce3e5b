// SPDX-License-Identifier: BSD-3-Clause
// The ranks as a grid of `rows` x `columns`. Tiles are distributed cyclically in both directions: the rank at
// (i mod rows, j mod columns) owns tile (i, j).
#pragma once

#include <mpi.h>
#include <stdexcept>

namespace cholesky {

class grid {
public:
    // A grid of the ranks of `all`. For a zero MPI_Dims_create chooses the number.
    explicit grid(MPI_Comm all, int rows = 0, int columns = 0) {
        int ranks = 0;
        MPI_Comm_size(all, &ranks);
        int dims[2] = {rows, columns};
        if ((rows != 0 && ranks % rows != 0) || (columns != 0 && ranks % columns != 0) ||
            (rows != 0 && columns != 0 && rows * columns != ranks)) {
            throw std::invalid_argument("cholesky: rows x columns of the grid is not the number of ranks");
        }
        MPI_Dims_create(ranks, 2, dims);
        rows_ = dims[0];
        columns_ = dims[1];
        MPI_Comm_dup(all, &all_);
        MPI_Comm_rank(all_, &rank_);
        MPI_Comm_split(all_, row(), column(), &along_row_);
        MPI_Comm_split(all_, column(), row(), &along_column_);
    }
    ~grid() {
        MPI_Comm_free(&along_column_);
        MPI_Comm_free(&along_row_);
        MPI_Comm_free(&all_);
    }
    grid(const grid &) = delete;
    grid &operator=(const grid &) = delete;

    int rows() const { return rows_; }
    int columns() const { return columns_; }
    int rank() const { return rank_; }
    int row() const { return rank_ / columns_; }
    int column() const { return rank_ % columns_; }
    int owner(int i, int j) const { return i % rows_ * columns_ + j % columns_; }
    bool mine(int i, int j) const { return owner(i, j) == rank_; }

    MPI_Comm all() const { return all_; }
    // The communicators of this rank's row, ordered by column, and of its column, ordered by row.
    MPI_Comm along_row() const { return along_row_; }
    MPI_Comm along_column() const { return along_column_; }

private:
    int rows_ = 1;
    int columns_ = 1;
    int rank_ = 0;
    MPI_Comm all_ = MPI_COMM_NULL;
    MPI_Comm along_row_ = MPI_COMM_NULL;
    MPI_Comm along_column_ = MPI_COMM_NULL;
};

} // namespace cholesky
