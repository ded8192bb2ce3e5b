// SPDX-License-Identifier: BSD-3-Clause
// Two ranks that send data to each other in turn: by notified puts, and by messages of MPI. A block of the one and a
// block of the other alternate, so that other load on the machine meets both.
#pragma once

#include "measure/figure.hpp"
#include "measure/round_trip.hpp"
#include "measure/session.hpp"
#include "measure/work.hpp"

#include <thence/notify.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace onesided {

// A rank with its part of a segment.
class player {
public:
    player(int rank, std::size_t most) : first_(rank == 0), other_(1 - rank), out_(most, 1), in_(most, 0) {
        thence_space_create(MPI_COMM_WORLD, 1, &space_);
        thence_segment_create(space_, most, 1, &segment_);
    }
    player(const player &) = delete;
    player &operator=(const player &) = delete;
    ~player() {
        thence_segment_free(&segment_);
        thence_space_free(&space_);
    }

    // Until the receiver has seen the notification, and the sender may write its data again.
    double by_puts(std::size_t bytes, int round_trips) {
        return measure::half_round_trip(
            first_, round_trips,
            [&] {
                thence_put_notify(out_.data(), bytes, other_, segment_, 0, 0, 1, 0, nullptr);
                thence_queue_flush(space_, 0);
            },
            [&] {
                std::uint32_t value = 0;
                thence_notification_wait(segment_, 0, 1, nullptr);
                thence_notification_reset(segment_, 0, &value);
            });
    }
    // The receive is posted before the message is sent, where one process sends after the other has.
    double by_messages(std::size_t bytes, int round_trips) {
        const int count = static_cast<int>(bytes);
        MPI_Request receive = MPI_REQUEST_NULL;
        MPI_Irecv(in_.data(), count, MPI_BYTE, other_, 0, MPI_COMM_WORLD, &receive);
        const double time = measure::half_round_trip(
            first_, round_trips,
            [&] {
                MPI_Request send = MPI_REQUEST_NULL;
                MPI_Isend(out_.data(), count, MPI_BYTE, other_, 0, MPI_COMM_WORLD, &send);
                MPI_Wait(&send, MPI_STATUS_IGNORE);
            },
            [&] {
                MPI_Wait(&receive, MPI_STATUS_IGNORE);
                MPI_Irecv(in_.data(), count, MPI_BYTE, other_, 0, MPI_COMM_WORLD, &receive);
            });
        MPI_Send(out_.data(), count, MPI_BYTE, other_, 0, MPI_COMM_WORLD);
        MPI_Wait(&receive, MPI_STATUS_IGNORE);
        return time;
    }
    thence_segment segment() const { return segment_; }
    thence_space space() const { return space_; }

private:
    bool first_;
    int other_;
    std::vector<char> out_;
    std::vector<char> in_;
    thence_space space_ = nullptr;
    thence_segment segment_ = nullptr;
};

// Times of blocks that alternate, and their ratios.
struct alternating {
    std::vector<double> ours;
    std::vector<double> theirs;
    void report(const measure::work &work, const std::string &name) const {
        std::vector<double> ratios;
        std::transform(ours.begin(), ours.end(), theirs.begin(), std::back_inserter(ratios), std::divides<>());
        const measure::sample ratio = measure::median_of(ratios);
        work.result(name + "_ratio", ratio.value);
        work.result(name + "_low", ratio.low);
        work.result(name + "_high", ratio.high);
        work.result(name + "_ours", measure::median_of(ours).value);
        work.result(name + "_theirs", measure::median_of(theirs).value);
    }
};

inline measure::figure figure_of(const measure::numbers &found, const std::string &prefix, const std::string &name,
                                 const std::string &against, double bar) {
    return {.name = name,
            .found = {found.at(prefix + "_ratio"), found.at(prefix + "_low"), found.at(prefix + "_high")},
            .unit = "times the time",
            .kind = bar > 0 ? measure::bar_kind::at_most : measure::bar_kind::none,
            .bar = bar,
            .against = against,
            .side_unit = "microseconds, half a round trip",
            .ours = found.at(prefix + "_ours"),
            .baseline = found.at(prefix + "_theirs")};
}

} // namespace onesided
