// SPDX-License-Identifier: BSD-3-Clause
// The rings in a program without Thence: one thread polls all requests with MPI_Testsome.
#pragma once

#include "ring.hpp"

namespace ring {

class by_testsome {
public:
    // `eager`: polls before each new ring, even if it does not have to wait for a slot.
    explicit by_testsome(traffic &of, bool eager = false)
        : traffic_(of), eager_(eager), requests_(of.steps().size(), MPI_REQUEST_NULL), receives_(requests_.size()),
          complete_(requests_.size()) {}

    void run(int iterations) { traffic_.run(iterations, *this); }
    void receive(step &mine) {
        receives_[traffic_.index(mine)] = true;
        MPI_Irecv(mine.message.data(), traffic_.count(), MPI_INT, traffic_.left(), mine.tag, MPI_COMM_WORLD,
                  &requests_[traffic_.index(mine)]);
    }
    void send(step &mine) {
        receives_[traffic_.index(mine)] = false;
        MPI_Isend(mine.message.data(), traffic_.count(), MPI_INT, traffic_.right(), mine.tag, MPI_COMM_WORLD,
                  &requests_[traffic_.index(mine)]);
    }
    void wait_until_free(int slot) {
        for (bool poll = eager_; poll || !traffic_.free(slot); poll = false) {
            int count = 0;
            // The PMPI name, since libthence interposes the other one and would search for CRs among the requests.
            PMPI_Testsome(static_cast<int>(requests_.size()), requests_.data(), &count, complete_.data(),
                          MPI_STATUSES_IGNORE);
            for (int i = 0; i < count; ++i) {
                step &mine = traffic_.steps()[static_cast<std::size_t>(complete_[static_cast<std::size_t>(i)])];
                if (receives_[traffic_.index(mine)]) {
                    traffic_.received(mine, *this);
                } else {
                    traffic_.sent(mine);
                }
            }
        }
    }

private:
    traffic &traffic_;
    bool eager_;
    std::vector<MPI_Request> requests_; // one per step
    std::vector<char> receives_;        // true if the request is a receive
    std::vector<int> complete_;
};

} // namespace ring
