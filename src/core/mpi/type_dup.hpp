// SPDX-License-Identifier: BSD-3-Clause
// MPI_Type_dup, which only nonblocking collectives on thread communicators call: they keep the user's datatypes.
#pragma once

#include <mpi.h>

namespace thence::mpi {

// A test may replace it.
extern decltype(&PMPI_Type_dup) type_dup;
// True if a datatype that the user has freed lives as long as its duplicate, so that its handle can be given to MPI. (The
// known MPIs do that, since MPI_Type_get_contents of the duplicate refers to it.) Found out by a datatype of its own.
bool dup_keeps_original() noexcept;

} // namespace thence::mpi
