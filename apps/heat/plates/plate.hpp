// SPDX-License-Identifier: BSD-3-Clause
// One of several independent plates: the band of rows that this rank has of it, the pieces of its boundary rows that
// travel, and the order of the steps. Step s sweeps piece k = s % pieces() of iteration t = s / pieces(): the columns
// of one block, over all rows of the band. It needs the piece of the band above as iteration t has made it, and that of
// the band below as iteration t - 1 has made it. All variants compute the same values, bit for bit.
#pragma once

#include "../grid.hpp"

#include "common/imbalance.hpp"

#include <mpi.h>
#include <string>
#include <vector>

namespace plates {

struct Settings {
    heat::Config config; // of every plate; the temperature of the upper border grows by 1 from plate to plate
    int plates = 4;
    bool mirrored = false; // odd plates have their uppermost band on the last rank
    bool spread = false;   // plate p begins p / plates of the ranks later, round the ranks
    double cell_cost = 0;  // simulated seconds for one cell
    std::optional<apps::Imbalance> imbalance;
};

class Plate {
public:
    Plate(const Settings &settings, int number, int rank, int ranks);

    int index() const { return number; }
    int pieces() const { return (config.cols + config.block - 1) / config.block; }
    int steps() const { return pieces() * settings.config.iterations; }
    int step() const { return current; } // the next to compute
    bool done() const { return current == steps(); }

    // The piece of step s among those of all plates.
    int column(int s) const { return number * pieces() + s % pieces(); }

    // A piece that travels. The count is 0 if there is no such message.
    struct Piece {
        double *data = nullptr;
        int count = 0, peer = MPI_PROC_NULL, tag = 0;
        int iteration = 0, column = 0; // which one made it, and of which column it is; of a row, the first
        bool goes_down() const { return tag % 2 == 0; } // to the band below
    };
    enum Side { above, below };
    // What step `s` needs from a side, and what it makes for it. The memory of the former is in use until step `s`
    // is computed, that of the latter may change when the same piece is computed in the next iteration.
    Piece needed(int s, Side from);
    Piece made(int s, Side to);

    // The same for whole rows of iteration t.
    Piece needed_row(int t, Side from);
    Piece made_row(int t, Side to);

    // Computes the next step. What it needs has been received.
    void compute();
    // An empty text, or which value differs from that of a serial run. After the last step.
    std::string check() const;

private:
    Piece incoming(int t, Side from, int col0, int col1, int tag);
    Piece outgoing(int t, Side to, int col0, int col1, int tag);
    int neighbour(Side side) const;
    // How many times as expensive the cells of a tile are.
    double dearness(const heat::Tile &tile) const;

    const Settings &settings;
    heat::Config config;
    int number, rank, ranks, direction, position;
    heat::Partition partition;
    heat::Band band;
    int current = 0;
};

} // namespace plates
