// SPDX-License-Identifier: BSD-3-Clause
// Parcels as messages of MPI, out of the send buffer and into the receive buffer. The tag is the number of the parcel.
#pragma once

#include "run.hpp"

namespace amr {

// A started operation and its record for the recorder.
struct Flight {
    MPI_Request request = MPI_REQUEST_NULL;
    Message message{};
};

class Link {
public:
    explicit Link(Run &r) : run(r) {}

    Flight receive(int stage, const Parcel &parcel);
    Flight send(int stage, const Parcel &parcel);

    // The record of a message that begins now.
    Message message(bool sent, int stage, const Parcel &parcel) const;
    // Must be called once when the operation of `flight` is complete.
    void complete(const Flight &flight) {
        Message m = flight.message;
        m.complete = apps::now();
        run.recorder.add(m);
    }
    // Blocks until all of `flights` are complete.
    void wait(std::vector<Flight> &flights);
    // Blocks until one of `flights` is complete and returns its index; -1 if none is left.
    int wait_any(std::vector<Flight> &flights);

private:
    Run &run;
};

} // namespace amr
