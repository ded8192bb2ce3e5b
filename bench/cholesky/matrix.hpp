// SPDX-License-Identifier: BSD-3-Clause
// The tiles of the lower triangle of a symmetric matrix that one rank owns. Tiles are square, contiguous, and
// column-major. Those of one column of tiles are adjacent in memory. The last tiles of each direction may be smaller,
// but have the storage of a whole one.
#pragma once

#include "grid.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace cholesky {

class matrix {
public:
    matrix(const grid &over, int order, int edge)
        : grid_(over), order_(order), edge_(edge), tiles_((order + edge - 1) / edge), at_(index(tiles_, 0), nullptr) {
        for (int pass = 0; pass < 2; ++pass) {
            std::size_t next = 0;
            for (int j = 0; j < tiles_; ++j) {
                for (int i = j; i < tiles_; ++i) {
                    if (grid_.mine(i, j)) {
                        at_[index(i, j)] = pass == 0 ? nullptr : elements_.data() + next;
                        next += tile_size();
                    }
                }
            }
            elements_.resize(next);
        }
    }
    matrix(const matrix &) = delete;
    matrix &operator=(const matrix &) = delete;

    const grid &over() const { return grid_; }
    int order() const { return order_; }
    int tiles() const { return tiles_; } // in each direction
    int edge() const { return edge_; }   // of a tile; the last ones have it as their leading dimension
    std::size_t tile_size() const { return static_cast<std::size_t>(edge_) * static_cast<std::size_t>(edge_); }
    int extent(int i) const { return std::min(edge_, order_ - i * edge_); } // of the tiles in row i or column i
    // Null if another rank owns it.
    double *tile(int i, int j) { return at_[index(i, j)]; }
    const double *tile(int i, int j) const { return at_[index(i, j)]; }
    // Numbers the tiles of the lower triangle.
    static std::size_t index(int i, int j) {
        return static_cast<std::size_t>(i) * static_cast<std::size_t>(i + 1) / 2 + static_cast<std::size_t>(j);
    }

    // Sets each element (row, column) with row >= column to value(row, column).
    template <class Value> void fill(Value &&value) {
        for (int j = 0; j < tiles_; ++j) {
            for (int i = j; i < tiles_; ++i) {
                if (double *const into = tile(i, j); into != nullptr) {
                    for (int c = 0; c < extent(j); ++c) {
                        for (int r = i == j ? c : 0; r < extent(i); ++r) {
                            into[static_cast<std::size_t>(c) * static_cast<std::size_t>(edge_) +
                                 static_cast<std::size_t>(r)] = value(i * edge_ + r, j * edge_ + c);
                        }
                    }
                }
            }
        }
    }
    // All elements of this rank; restore() copies them back.
    const std::vector<double> &elements() const { return elements_; }
    void restore(const std::vector<double> &from) { std::copy(from.begin(), from.end(), elements_.begin()); }

private:
    const grid &grid_;
    int order_;
    int edge_;
    int tiles_;
    std::vector<double> elements_;
    std::vector<double *> at_;
};

// Element of a positive definite matrix: pseudo-random values and a dominant diagonal.
inline double dominant_diagonal(int order, int row, int column) {
    auto mixed = static_cast<std::uint64_t>(row) * 0x9e3779b97f4a7c15U + static_cast<std::uint64_t>(column) + 1;
    mixed = (mixed ^ (mixed >> 30U)) * 0xbf58476d1ce4e5b9U;
    mixed = (mixed ^ (mixed >> 27U)) * 0x94d049bb133111ebU;
    const double random = static_cast<double>(mixed >> 11U) * 0x1p-53 - 0.5;
    return row == column ? order + random : random;
}

} // namespace cholesky
