// SPDX-License-Identifier: BSD-3-Clause
// On how many hosts the two ranks of a program run: the times of one clock can be compared on one host only.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <array>

namespace measure {

// Both ranks call it.
inline int hosts_of_two_ranks() {
    std::array<char, MPI_MAX_PROCESSOR_NAME> name{};
    std::array<char, std::size_t{2} * MPI_MAX_PROCESSOR_NAME> all{};
    int length = 0;
    MPI_Get_processor_name(name.data(), &length);
    MPI_Allgather(name.data(), MPI_MAX_PROCESSOR_NAME, MPI_CHAR, all.data(), MPI_MAX_PROCESSOR_NAME, MPI_CHAR,
                  MPI_COMM_WORLD);
    return std::equal(name.begin(), name.end(), all.begin()) &&
                   std::equal(name.begin(), name.end(), all.begin() + MPI_MAX_PROCESSOR_NAME)
               ? 1
               : 2;
}

} // namespace measure
