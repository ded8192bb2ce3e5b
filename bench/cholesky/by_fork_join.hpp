// SPDX-License-Identifier: BSD-3-Clause
// The factorization as a loop over the columns of tiles, with blocking broadcasts and OpenMP loops over the tiles of a
// step. The broadcasts are few and large: the tiles of a panel that a rank owns go along its row of ranks in one
// broadcast, and those of them that the ranks of a column use in one more along that column.
#pragma once

#include "tile_operations.hpp"

#include <vector>

namespace cholesky {

class by_fork_join {
public:
    by_fork_join(matrix &a, int threads)
        : a_(a), grid_(a.over()), threads_(threads), diagonal_(a.tile_size()), packed_(grid_.rows()),
          left_(a.tiles(), nullptr), above_(a.tiles(), nullptr) {
        const int most = (a.tiles() + grid_.rows() - 1) / grid_.rows();
        row_buffer_.resize(a.tile_size() * static_cast<std::size_t>(most));
        for (std::vector<double> &buffer : packed_) {
            buffer.resize(row_buffer_.size());
        }
    }

    void run() {
        tile_operations todo(a_);
        for (int k = 0; k < a_.tiles(); ++k) {
            if (k % grid_.columns() == grid_.column()) {
                make_panel(todo, k);
            }
            send_along_rows(k);
            send_along_columns(k);
            update(todo, k);
        }
        todo.finish();
    }

private:
    int count(std::size_t tiles) const { return static_cast<int>(tiles * a_.tile_size()); }

    void make_panel(tile_operations &todo, int k) {
        const bool owner = grid_.mine(k, k);
        if (owner) {
            todo.factorize_diagonal(k);
        }
        double *const diagonal = owner ? a_.tile(k, k) : diagonal_.data();
        MPI_Bcast(diagonal, count(1), MPI_DOUBLE, k % grid_.rows(), grid_.along_column());
#pragma omp parallel for num_threads(threads_) schedule(dynamic)
        for (int i = k + 1; i < a_.tiles(); ++i) {
            if (grid_.mine(i, k)) {
                todo.solve(i, k, diagonal);
            }
        }
    }
    // Sets left_[i] to L(i,k) for the rows of tiles of this rank.
    void send_along_rows(int k) {
        const int root = k % grid_.columns();
        double *first = grid_.column() == root ? nullptr : row_buffer_.data();
        std::size_t tiles = 0;
        for (int i = k + 1; i < a_.tiles(); ++i) {
            if (i % grid_.rows() == grid_.row()) {
                if (first == nullptr) {
                    first = a_.tile(i, k);
                }
                left_[i] = first + a_.tile_size() * tiles++;
            }
        }
        if (tiles > 0) {
            MPI_Bcast(first, count(tiles), MPI_DOUBLE, root, grid_.along_row());
        }
    }
    // Sets above_[j] to L(j,k) for the columns of tiles of this rank.
    void send_along_columns(int k) {
        for (int root = 0; root < grid_.rows(); ++root) {
            double *const packed = packed_[root].data();
            double *first = packed;
            std::size_t tiles = 0;
            for (int j = k + 1; j < a_.tiles(); ++j) {
                if (j % grid_.columns() != grid_.column() || j % grid_.rows() != root) {
                    continue;
                }
                if (root == grid_.row() && grid_.columns() == 1) { // they are contiguous already
                    first = tiles == 0 ? left_[j] : first;
                } else if (root == grid_.row()) {
                    std::copy_n(left_[j], a_.tile_size(), packed + a_.tile_size() * tiles);
                }
                above_[j] = first + a_.tile_size() * tiles++;
            }
            if (tiles > 0 && grid_.rows() > 1) {
                MPI_Bcast(first, count(tiles), MPI_DOUBLE, root, grid_.along_column());
            }
        }
    }
    void update(tile_operations &todo, int k) {
        to_update_.clear();
        for (int j = k + 1; j < a_.tiles(); ++j) {
            for (int i = j; i < a_.tiles(); ++i) {
                if (grid_.mine(i, j)) {
                    to_update_.push_back({i, j});
                }
            }
        }
#pragma omp parallel for num_threads(threads_) schedule(dynamic)
        for (std::size_t t = 0; t < to_update_.size(); ++t) {
            todo.update(to_update_[t].i, to_update_[t].j, k, left_[to_update_[t].i], above_[to_update_[t].j]);
        }
    }

    struct tile_index {
        int i;
        int j;
    };
    matrix &a_;
    const grid &grid_;
    int threads_;
    std::vector<double> diagonal_;
    std::vector<double> row_buffer_;          // tiles of the panel that another column of ranks owns
    std::vector<std::vector<double>> packed_; // tiles for the broadcast along columns, per row of ranks
    std::vector<double *> left_;
    std::vector<double *> above_;
    std::vector<tile_index> to_update_;
};

} // namespace cholesky
