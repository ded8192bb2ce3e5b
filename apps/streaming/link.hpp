// SPDX-License-Identifier: BSD-3-Clause
// Blocks as messages of MPI: from out() of a stage into in() of the next one, without a copy. The tag is the number of
// the block. The same block of successive chunks is sent and received in order, and MPI does not let these messages
// overtake.
#pragma once

#include "run.hpp"

#include <cstdint>

namespace streaming {

// A started operation and its record for the recorder. The request is null if there is no stage before or after.
struct Flight {
    MPI_Request request = MPI_REQUEST_NULL;
    Message message{};
};

class Link {
public:
    explicit Link(Run &r) : run(r) {}

    Flight receive(int chunk, int block) { return start(false, chunk, block); }
    Flight send(int chunk, int block) { return start(true, chunk, block); }

    // The record of a message that begins now, without an operation.
    Flight describe(bool sent, int chunk, int block) const;
    // Must be called once when the operation of `flight` is complete.
    void complete(const Flight &flight) {
        Message m = flight.message;
        m.complete = now();
        run.recorder.add(m);
    }

    // Blocks until all of `flights` are complete.
    void wait(std::span<Flight *const> flights);

private:
    Flight start(bool sent, int chunk, int block);

    Run &run;
};

} // namespace streaming
