// SPDX-License-Identifier: BSD-3-Clause
// The boundary rows between bands, in pieces. A piece travels from the first or last row of one band into the halo row
// of the next, without a copy; whoever starts an operation keeps its memory alone until the operation is complete.
#pragma once

#include "run.hpp"

namespace heat {

// A started operation with what the recorder will keep of it. `request` is null where there is no neighbour.
struct Flight {
    MPI_Request request = MPI_REQUEST_NULL;
    Message message{};
};

class Halo {
public:
    explicit Halo(Run &r) : run(r) {}

    // `down` leaves the last row for the rank below; `up` leaves the first row for the rank above.
    bool sends(Direction d) const { return d == Direction::down ? run.rank + 1 < run.ranks : run.rank > 0; }
    bool receives(Direction d) const { return d == Direction::down ? run.rank > 0 : run.rank + 1 < run.ranks; }

    // Piece `k` covers the columns [col0, col1). `iteration` is the one that computed the values.
    Flight send(Direction d, int iteration, int k, int col0, int col1) {
        return start(true, d, iteration, k, col0, col1);
    }
    Flight receive(Direction d, int iteration, int k, int col0, int col1) {
        return start(false, d, iteration, k, col0, col1);
    }

    // To be called once when the operation of `flight` is known to be complete.
    void complete(const Flight &flight) {
        Message m = flight.message;
        m.complete = now();
        run.recorder.add(m);
    }

    // Blocks until all of `flights` are complete.
    void wait(std::span<Flight *const> flights);

private:
    Flight start(bool sent, Direction d, int iteration, int k, int col0, int col1);

    Run &run;
};

// The columns of a row cut into pieces; throws ConfigError if MPI has too few tags for them.
void check_tags(MPI_Comm comm, int pieces);

} // namespace heat
