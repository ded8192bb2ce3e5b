// SPDX-License-Identifier: BSD-3-Clause
// The rings as a program without Thence runs them: one thread polls all requests with MPI_Testsome.
#pragma once

#include "ring.hpp"

namespace ring {

class by_testsome {
public:
    // `eager`: looks before each new ring, whether it has to wait or not.
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
    void make_free(int slot) {
        for (bool look = eager_; look || !traffic_.free(slot); look = false) {
            int count = 0;
            // By MPI's other name: libthence would look for its own requests among them.
            PMPI_Testsome(static_cast<int>(requests_.size()), requests_.data(), &count, complete_.data(),
                          MPI_STATUSES_IGNORE);
            for (int i = 0; i < count; ++i) {
                step &mine = traffic_.steps()[static_cast<std::size_t>(complete_[static_cast<std::size_t>(i)])];
                if (receives_[traffic_.index(mine)])
                    traffic_.received(mine, *this);
                else
                    traffic_.sent(mine);
            }
        }
    }

private:
    traffic &traffic_;
    bool eager_;
    std::vector<MPI_Request> requests_; // one per step
    std::vector<char> receives_;        // what it is
    std::vector<int> complete_;
};

} // namespace ring
