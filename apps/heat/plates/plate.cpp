// SPDX-License-Identifier: BSD-3-Clause
// A tag contains plate, piece and direction. Messages of a tag are sent and received in the order of iterations, and
// MPI does not let them overtake.
#include "plate.hpp"

#include "common/imbalance.hpp"
#include "common/simulated.hpp"
#include "common/wrong_value.hpp"

namespace plates {
namespace {

heat::Config config_of(const Settings &settings, int number) {
    heat::Config config = settings.config;
    config.top += number;
    return config;
}

// Which band of the plate a rank has, counted from above.
int position_of(const Settings &settings, int number, int direction, int rank, int ranks) {
    const auto first = settings.spread ? static_cast<long>(number) * ranks / settings.plates : 0;
    const auto after = static_cast<int>((rank - first + ranks) % ranks);
    return direction > 0 ? after : ranks - 1 - after;
}

// Bands may begin at any row; only columns are cut into blocks.
heat::Partition partition_of(heat::Config config, int ranks) {
    config.block = 1;
    return {config, ranks};
}

} // namespace

Plate::Plate(const Settings &s, int n, int own, int all)
    : settings(s), config(config_of(s, n)), number(n), rank(own), ranks(all),
      direction(s.mirrored && n % 2 == 1 ? -1 : 1), position(position_of(s, n, direction, own, all)),
      partition(partition_of(config, ranks)),
      band(config, std::nullopt, partition.first_row(position), partition.rows_of(position)) {}

int Plate::neighbour(Side side) const {
    if (position == (side == above ? 0 : ranks - 1)) {
        return MPI_PROC_NULL;
    }
    return (rank + (side == above ? -direction : direction) + ranks) % ranks;
}

Plate::Piece Plate::incoming(int t, Side from, int col0, int col1, int tag) {
    const int peer = neighbour(from);
    if (peer == MPI_PROC_NULL || (from == below && t == 0)) {
        return {};
    }
    return {band.row(from == above ? -1 : band.rows()) + col0,
            col1 - col0,
            peer,
            2 * tag + (from == above ? 0 : 1),
            from == above ? t : t - 1,
            column(col0 / config.block)};
}

Plate::Piece Plate::outgoing(int t, Side to, int col0, int col1, int tag) {
    const int peer = neighbour(to);
    if (peer == MPI_PROC_NULL || (to == above && t + 1 == config.iterations)) {
        return {};
    }
    return {band.row(to == above ? 0 : band.rows() - 1) + col0,
            col1 - col0,
            peer,
            2 * tag + (to == below ? 0 : 1),
            t,
            column(col0 / config.block)};
}

Plate::Piece Plate::needed(int s, Side from) {
    const int k = s % pieces(), begin = k * config.block;
    return incoming(s / pieces(), from, begin, std::min(begin + config.block, config.cols), column(k));
}

Plate::Piece Plate::made(int s, Side to) {
    const int k = s % pieces(), begin = k * config.block;
    return outgoing(s / pieces(), to, begin, std::min(begin + config.block, config.cols), column(k));
}

Plate::Piece Plate::needed_row(int t, Side from) {
    return incoming(t, from, 0, config.cols, number);
}

Plate::Piece Plate::made_row(int t, Side to) {
    return outgoing(t, to, 0, config.cols, number);
}

double Plate::dearness(const heat::Tile &tile) const {
    if (!settings.imbalance) {
        return 1;
    }
    const double x = (tile.col0 + tile.col1) / 2.0 / config.cols;
    const double y = (partition.first_row(position) + (tile.row0 + tile.row1) / 2.0) / config.rows;
    return settings.imbalance->factor_of(rank, x, y);
}

void Plate::compute() {
    const int begin = current % pieces() * config.block;
    const heat::Tile tile{0, band.rows(), begin, std::min(begin + config.block, config.cols)};
    const double factor = dearness(tile);
    {
        const apps::Dearer dearer(apps::simulated ? 1 : factor);
        band.sweep(tile);
    }
    apps::inject(settings.cell_cost * factor * band.rows() * (tile.col1 - tile.col0));
    ++current;
}

std::string Plate::check() const {
    heat::Band whole(config, std::nullopt, 0, config.rows);
    for (int t = 0; t < config.iterations; ++t) {
        whole.sweep({0, config.rows, 0, config.cols});
    }
    const int first = partition.first_row(position);
    for (int i = 0; i < band.rows(); ++i) {
        for (int j = 0; j < config.cols; ++j) {
            if (!apps::same_bits(band.row(i)[j], whole.row(first + i)[j])) {
                return apps::wrong_value("plate " + std::to_string(number) + ", row " + std::to_string(first + i) +
                                             ", column " + std::to_string(j),
                                         band.row(i)[j], whole.row(first + i)[j]);
            }
        }
    }
    return "";
}

} // namespace plates
