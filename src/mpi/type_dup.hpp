// SPDX-License-Identifier: BSD-3-Clause
// MPI_Type_dup, which only nonblocking collectives on thread communicators call: they keep the user's datatypes.
#pragma once

#include <mpi.h>

namespace thence::mpi {

// A test may replace it.
extern decltype(&PMPI_Type_dup) type_dup;

} // namespace thence::mpi
