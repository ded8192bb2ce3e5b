// SPDX-License-Identifier: BSD-3-Clause
// The sweeps with blocking receives. A rank processes the pairs (sweep, station) in the order of 2 * sweep + station.
// Everything that a pair needs comes earlier in this order, on this or another rank, so no rank waits for ever.
// Messages are sent with MPI_Isend from buffers of their own, since the receive may be of a later pair: the next
// message of the station is the first thing that waits for it, and the pair with that receive comes earlier.
#pragma once

#include "ranks.hpp"

namespace band {

class by_blocking {
public:
    explicit by_blocking(const ranks &over) : ranks_(over), problem_(over.problem()) {}

    // The result is on rank 0.
    tridiagonal run() {
        auto stations = ranks_.stations();
        std::vector<pending_sends> sends(stations.size());
        for (int level = 0; level <= 2 * problem_.sweeps() + problem_.stations(); ++level) {
            for (std::size_t mine = stations.size(); mine-- > 0;) { // earlier sweeps first
                const int ahead = level - stations[mine]->number();
                const int sweep = ahead / 2;
                if (ahead >= 0 && ahead % 2 == 0 && sweep < problem_.sweeps() &&
                    problem_.active(sweep, stations[mine]->number())) {
                    do_sweep(*stations[mine], sends[mine], sweep);
                }
            }
        }
        for (pending_sends &left : sends) {
            MPI_Waitall(2, left.requests, MPI_STATUSES_IGNORE);
        }
        return ranks_.rank() == 0 ? stations.front()->finish() : tridiagonal();
    }

private:
    struct pending_sends {
        MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL}; // of the column, of the reflector
        std::vector<double> column;
        std::vector<double> reflector;
    };

    void do_sweep(station &at, pending_sends &sends, int sweep) {
        const int number = at.number();
        std::vector<double> &reflector = at.reflector();
        const int column = static_cast<int>(at.column_size());
        if (number == 0) {
            at.begin(sweep);
        } else {
            MPI_Recv(reflector.data(), static_cast<int>(reflector.size()), MPI_DOUBLE, ranks_.owner(number - 1),
                     ranks::reflector_tag(number), ranks_.comm(), MPI_STATUS_IGNORE);
        }
        const int steps = at.steps(sweep);
        for (int t = 0; t < steps; ++t) {
            if (t == steps - 1 && problem_.takes(sweep, number)) {
                MPI_Recv(at.incoming(sweep), column, MPI_DOUBLE, ranks_.owner(number + 1), ranks::column_tag(number),
                         ranks_.comm(), MPI_STATUS_IGNORE);
            }
            at.step(sweep, t);
            if (t == 0 && number == 0) {
                at.keep_outgoing(sweep);
            } else if (t == 0) {
                MPI_Wait(&sends.requests[0], MPI_STATUS_IGNORE);
                sends.column.assign(at.outgoing(sweep), at.outgoing(sweep) + column);
                MPI_Isend(sends.column.data(), column, MPI_DOUBLE, ranks_.owner(number - 1),
                          ranks::column_tag(number - 1), ranks_.comm(), &sends.requests[0]);
            }
        }
        if (problem_.active(sweep, number + 1)) {
            MPI_Wait(&sends.requests[1], MPI_STATUS_IGNORE);
            sends.reflector = reflector;
            MPI_Isend(sends.reflector.data(), static_cast<int>(reflector.size()), MPI_DOUBLE, ranks_.owner(number + 1),
                      ranks::reflector_tag(number + 1), ranks_.comm(), &sends.requests[1]);
        }
    }

    const ranks &ranks_;
    band::problem problem_;
};

} // namespace band
