// SPDX-License-Identifier: BSD-3-Clause
// The distribution of the stations: cyclic over the ranks, so that neighbours are on different ranks and all ranks have
// work until the end. A station sends the reflector to its right neighbour and a column to its left one, both in the
// order of the sweeps.
#pragma once

#include "station.hpp"

#include <memory>
#include <mpi.h>

namespace band {

class ranks {
public:
    explicit ranks(const problem &of) : problem_(of) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comm_);
        MPI_Comm_rank(comm_, &rank_);
        MPI_Comm_size(comm_, &count_);
    }
    ~ranks() { MPI_Comm_free(&comm_); }
    ranks(const ranks &) = delete;
    ranks &operator=(const ranks &) = delete;

    const band::problem &problem() const { return problem_; }
    MPI_Comm comm() const { return comm_; }
    int rank() const { return rank_; }
    int owner(int station) const { return station % count_; }
    std::vector<std::unique_ptr<station>> stations() const {
        std::vector<std::unique_ptr<station>> mine;
        for (int number = rank_; number < problem_.stations(); number += count_) {
            mine.push_back(std::make_unique<station>(problem_, number));
        }
        return mine;
    }
    // Tags of the messages that the station `to` receives.
    static int reflector_tag(int to) { return 2 * to; }
    static int column_tag(int to) { return 2 * to + 1; }

private:
    band::problem problem_;
    MPI_Comm comm_ = MPI_COMM_NULL;
    int rank_ = 0;
    int count_ = 1;
};

} // namespace band
