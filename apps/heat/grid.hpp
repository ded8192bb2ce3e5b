// SPDX-License-Identifier: BSD-3-Clause
// The partition of the plate into bands of rows, one per rank, and of each band into square blocks. Invariant: the
// bands cover all rows without a gap, their limits are limits of blocks, and no band is empty.
#pragma once

#include "config.hpp"
#include "pgm.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>

namespace heat {

// Half-open ranges of rows and columns, counted inside a band.
struct Tile {
    int row0, row1, col0, col1;
};

class Partition {
public:
    // Throws ConfigError if there are more ranks than rows of blocks.
    Partition(const Config &config, int ranks);

    int first_row(int rank) const { return std::min(first_block(rank) * block, rows); }
    int rows_of(int rank) const { return first_row(rank + 1) - first_row(rank); }
    int block_rows(int rank) const { return first_block(rank + 1) - first_block(rank); }
    int block_cols() const { return count(cols); }

    int rows, cols, block, ranks;

private:
    int count(int cells) const { return (cells + block - 1) / block; }
    int first_block(int rank) const { return static_cast<int>(static_cast<long>(count(rows)) * rank / ranks); }
};

// The cells of one band with a frame of one cell: the border of the plate, or a row of the band above or below (the
// halo). Row -1 and row rows() are the frame, and so are column -1 and column cols().
class Band {
public:
    Band(const Config &config, const std::optional<Picture> &picture, int first_row, int rows);
    Band(const Band &) = delete;
    Band &operator=(const Band &) = delete;

    int rows() const { return row_count; }
    int cols() const { return col_count; }
    double *row(int i) { return base + offset(i); }
    const double *row(int i) const { return base + offset(i); }

    // Moves the cells to memory of the caller, for size() of them. Cell (i, j) is at
    // offset(i) + j there.
    void use_memory(double *memory);
    std::size_t size() const { return cells.size(); }
    std::ptrdiff_t offset(int i) const { return (static_cast<std::ptrdiff_t>(i) + 1) * (col_count + 2) + 1; }

    // One Gauss-Seidel sweep over a tile, in strips of columns from left to right, each row by row: each cell becomes
    // the mean of its four neighbours. The upper and left neighbours have their new values, the lower and right ones
    // the old. Cells of a source do not change.
    void sweep(const Tile &tile);

private:
    static constexpr int strip = 16; // columns

    void sweep_strip(const Tile &tile);

    int row_count, col_count;
    std::vector<double> cells; // not used after use_memory()
    double *base;
    std::vector<std::uint8_t> held;         // 1 for a cell of a source; same layout as `cells`; empty without sources
    std::vector<std::pair<int, int>> spans; // for each row the columns between which cells are held
};

} // namespace heat
