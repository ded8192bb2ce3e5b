// SPDX-License-Identifier: BSD-3-Clause
#include "core/mpi/info.hpp"

#include "core/mpi/calls.hpp"

namespace thence::mpi {

std::optional<std::string> value_of(MPI_Info info, const char *key) {
    char buffer[MPI_MAX_INFO_VAL + 1] = {};
    int there = 0;
    if (info == MPI_INFO_NULL || table.Info_get(info, key, MPI_MAX_INFO_VAL, buffer, &there) != MPI_SUCCESS ||
        there == 0) {
        return std::nullopt;
    }
    return std::string(buffer);
}

} // namespace thence::mpi
