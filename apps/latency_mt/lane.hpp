// SPDX-License-Identifier: BSD-3-Clause
// A lane: one message that goes to the other rank and back, again and again. Many lanes are in flight at the same time,
// each with a tag of its own. Uses no MPI.
//
// Every message depends on its lane, its round and its direction, so one that is delivered to the wrong lane, twice or
// too late is noticed. In timed rounds the first and the last byte are written and checked, in others all of them.
#pragma once

#include "common/imbalance.hpp"
#include "common/recorder.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace latency_mt {

struct Rounds {
    int warm_up, timed;
    bool whole; // every byte is written and checked
};

// What a lane computes after each message that it receives, before it sends the next one.
struct Computing {
    double microseconds = 0;                       // of processor time of its thread
    std::optional<apps::Imbalance> imbalance = {}; // of ranks or lanes

    bool is_dear(int rank, int lane) const {
        return imbalance && imbalance->has_member(imbalance->part == apps::Imbalance::lanes ? lane : rank);
    }
    apps::Nanoseconds of(int rank, int lane) const {
        return static_cast<apps::Nanoseconds>(1e3 * microseconds * (is_dear(rank, lane) ? imbalance->factor : 1));
    }
};

class Lane {
public:
    Lane(int number, int rank, int bytes, apps::Nanoseconds computing = 0);

    int tag() const { return number; }
    int bytes() const { return static_cast<int>(out.size()); }
    bool begins() const { return rank == 0; }
    char *outgoing() { return out.data(); }
    char *incoming() { return in.data(); }

    void write(int round, bool whole);
    // Remembers the first byte that is wrong.
    void check(int round, bool whole);
    // What every variant does with a message that has arrived: checks it and computes.
    void arrived(int round, bool whole) {
        check(round, whole);
        if (computing > 0) {
            apps::spin_until(apps::processor_time() + computing);
        }
    }
    const std::string &wrong() const { return first_wrong; }

    apps::Nanoseconds begin = 0, end = 0; // of the timed rounds

private:
    char expected(int round, int sender, std::size_t i) const;
    bool check_byte(int round, std::size_t i);

    int number, rank;
    apps::Nanoseconds computing;
    std::vector<char> out, in;
    std::string first_wrong;
};

// What each lane does; the variants differ in `send` and `receive`, which return when the message is sent, or is there.
template <class Send, class Receive> void ping_pong(Lane &lane, const Rounds &rounds, Send send, Receive receive) {
    for (int round = 0; round < rounds.warm_up + rounds.timed; ++round) {
        if (round == rounds.warm_up) {
            lane.begin = apps::now();
        }
        if (lane.begins()) {
            lane.write(round, rounds.whole);
            send();
        }
        receive();
        lane.arrived(round, rounds.whole);
        if (!lane.begins()) {
            lane.write(round, rounds.whole);
            send();
        }
    }
    lane.end = apps::now();
}

} // namespace latency_mt
