// SPDX-License-Identifier: BSD-3-Clause
// Messages with pieces of the boundary rows. A piece goes from the first or last row of one band into the halo row of
// the next, without a copy. The caller must not use the memory of an operation until it is complete.
#pragma once

#include "run.hpp"

namespace heat {

enum class Direction : std::uint8_t { up, down }; // from a rank to the one above it, or below it

// A started operation and its record for the recorder. `request` is null if there is no neighbour.
struct Flight {
    MPI_Request request = MPI_REQUEST_NULL;
    Message message{};
    Direction direction() const { return static_cast<Direction>(message.direction); }
};

class Halo {
public:
    explicit Halo(Run &r) : run(r) {}

    // `down`: from the last row to the rank below. `up`: from the first row to the rank above.
    bool sends(Direction d) const { return d == Direction::down ? run.rank + 1 < run.ranks : run.rank > 0; }
    bool receives(Direction d) const { return d == Direction::down ? run.rank > 0 : run.rank + 1 < run.ranks; }

    // Piece `k` covers the columns [col0, col1). `iteration` is the one that computed the values.
    Flight send(Direction d, int iteration, int k, int col0, int col1) {
        return start(true, d, iteration, k, col0, col1);
    }
    Flight receive(Direction d, int iteration, int k, int col0, int col1) {
        return start(false, d, iteration, k, col0, col1);
    }
    // The same with MPI_Send and MPI_Recv: complete when they return.
    Flight send_blocking(Direction d, int iteration, int k, int col0, int col1) {
        return start(true, d, iteration, k, col0, col1, true);
    }
    Flight receive_blocking(Direction d, int iteration, int k, int col0, int col1) {
        return start(false, d, iteration, k, col0, col1, true);
    }

    // The record of a message that begins now, without an operation.
    Flight describe(bool sent, Direction d, int iteration, int k, int col0, int col1) const;

    // Must be called once when the operation of `flight` is complete.
    void complete(const Flight &flight) {
        Message m = flight.message;
        m.complete = now();
        run.recorder.add(m);
    }

    // Blocks until all of `flights` are complete.
    void wait(std::span<Flight *const> flights);

private:
    Flight start(bool sent, Direction d, int iteration, int k, int col0, int col1, bool blocking = false);

    Run &run;
};

} // namespace heat
