// SPDX-License-Identifier: BSD-3-Clause
// The keys of an MPI_Info of the user.
#pragma once

#include <mpi.h>

#include <optional>
#include <string>

namespace thence::mpi {

// Nothing if the info is null or has no such key.
std::optional<std::string> value_of(MPI_Info info, const char *key);

} // namespace thence::mpi
