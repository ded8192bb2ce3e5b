// SPDX-License-Identifier: BSD-3-Clause
// The rings on one rank, run by a program that knows which operation completes next and never has to find completions.
// The cost of its MPI calls is a lower bound for every way of finding completions.
#pragma once

#include "ring.hpp"

#include <array>

namespace ring {

// On one rank a message completes the oldest receive of its tag.
class by_order {
public:
    explicit by_order(traffic &of)
        : traffic_(of), receives_(of.steps().size()), oldest_(static_cast<std::size_t>(of.in_flight())),
          pending_(oldest_.size()) {}

    void run(int iterations) { traffic_.run(iterations, *this); }
    void receive(step &mine) {
        const auto slot = static_cast<std::size_t>(mine.slot);
        pending_[slot][oldest_[slot].posted++] = &mine;
        MPI_Irecv(mine.message.data(), traffic_.count(), MPI_INT, traffic_.left(), mine.tag, MPI_COMM_WORLD,
                  &receives_[traffic_.index(mine)]);
    }
    void send(step &mine) {
        MPI_Request sending = MPI_REQUEST_NULL;
        MPI_Isend(mine.message.data(), traffic_.count(), MPI_INT, traffic_.right(), mine.tag, MPI_COMM_WORLD, &sending);
        const auto slot = static_cast<std::size_t>(mine.slot);
        step &next = *pending_[slot][oldest_[slot].complete++];
        if (oldest_[slot].complete == rounds) {
            oldest_[slot] = {};
        }
        MPI_Wait(&receives_[traffic_.index(next)], MPI_STATUS_IGNORE);
        MPI_Wait(&sending, MPI_STATUS_IGNORE);
        traffic_.sent(mine);
        traffic_.received(next, *this);
    }
    void wait_until_free(int) {} // the ring has ended when start() returns

private:
    struct of_slot {
        std::size_t posted = 0;
        std::size_t complete = 0;
    };

    traffic &traffic_;
    std::vector<MPI_Request> receives_; // one per step
    std::vector<of_slot> oldest_;
    std::vector<std::array<step *, rounds>> pending_; // in the order of their posts
};

} // namespace ring
