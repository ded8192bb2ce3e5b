// SPDX-License-Identifier: BSD-3-Clause
// The starting field depends only on the position on the plate, so every rank fills its band and its halo rows without
// communication. This file is compiled with -ffp-contract=off: then both loops of sweep() round in the same way, and
// all variants compute the same field bit for bit.
#include "grid.hpp"

namespace heat {
namespace {

// The temperature at the start and whether a source holds it.
struct Cell {
    double temperature;
    bool held;
};

class Plate {
public:
    Plate(const Config &c, const std::optional<Picture> &p) : config(c), picture(p) {}

    Cell at(int row, int col) const {
        if (row < 0) {
            return {config.top, true};
        }
        if (row >= config.rows) {
            return {config.bottom, true};
        }
        if (col < 0) {
            return {config.left, true};
        }
        if (col >= config.cols) {
            return {config.right, true};
        }
        // If sources overlap, the last one in the list counts.
        for (auto s = config.sources.rbegin(); s != config.sources.rend(); ++s) {
            const double dx = (col + 0.5) - s->x * config.cols;
            const double dy = (row + 0.5) - s->y * config.rows;
            const double radius = s->radius * config.cols;
            if (dx * dx + dy * dy <= radius * radius) {
                return {s->temperature, true};
            }
        }
        if (!picture) {
            return {config.initial, false};
        }
        const double grey = picture->at((col + 0.5) / config.cols, (row + 0.5) / config.rows);
        return {config.black + grey * (config.white - config.black), false};
    }

private:
    const Config &config;
    const std::optional<Picture> &picture;
};

inline double mean(double up, double left, double right, double down) {
    return 0.25 * ((up + down) + right + left);
}

} // namespace

Partition::Partition(const Config &c, int n) : rows(c.rows), cols(c.cols), block(c.block), ranks(n) {
    if (ranks > count(rows)) {
        throw ConfigError(std::to_string(ranks) + " ranks need as many rows of blocks, but " + std::to_string(rows) +
                          " rows in blocks of " + std::to_string(block) + " give " + std::to_string(count(rows)) +
                          "; use fewer ranks or --block " + std::to_string(std::max(1, rows / ranks)));
    }
}

Band::Band(const Config &config, const std::optional<Picture> &picture, int first_row, int rows)
    : row_count(rows), col_count(config.cols),
      cells((static_cast<std::size_t>(rows) + 2) * (static_cast<std::size_t>(config.cols) + 2)), base(cells.data()),
      spans(static_cast<std::size_t>(rows), {col_count, 0}) {
    const Plate plate(config, picture);
    if (!config.sources.empty()) {
        held.resize(cells.size());
    }
    for (int i = -1; i <= rows; ++i) {
        for (int j = -1; j <= col_count; ++j) {
            const Cell cell = plate.at(first_row + i, j);
            row(i)[j] = cell.temperature;
            if (!cell.held || i < 0 || i >= rows || j < 0 || j >= col_count) {
                continue;
            }
            held[static_cast<std::size_t>(offset(i) + j)] = 1;
            auto &[from, to] = spans[static_cast<std::size_t>(i)];
            from = std::min(from, j);
            to = j + 1;
        }
    }
}

void Band::use_memory(double *memory) {
    std::copy(cells.begin(), cells.end(), memory);
    base = memory;
}

// Each cell waits for its left neighbour. A processor that executes out of order computes several rows at a time if a
// few hundred instructions reach beyond the end of a row, so narrow strips are about twice as fast as whole rows.
void Band::sweep(const Tile &tile) {
    for (int col = tile.col0; col < tile.col1; col += strip) {
        sweep_strip({tile.row0, tile.row1, col, std::min(col + strip, tile.col1)});
    }
}

void Band::sweep_strip(const Tile &tile) {
    for (int i = tile.row0; i < tile.row1; ++i) {
        const double *up = row(i - 1), *down = row(i + 1);
        double *mid = row(i);
        const auto [from, to] = spans[static_cast<std::size_t>(i)];
        double left = mid[tile.col0 - 1];
        if (to <= tile.col0 || from >= tile.col1) {
            for (int j = tile.col0; j < tile.col1; ++j) {
                mid[j] = left = mean(up[j], left, mid[j + 1], down[j]);
            }
            continue;
        }
        const std::uint8_t *hold = held.data() + offset(i);
        for (int j = tile.col0; j < tile.col1; ++j) {
            mid[j] = left = hold[j] ? mid[j] : mean(up[j], left, mid[j + 1], down[j]);
        }
    }
}

} // namespace heat
