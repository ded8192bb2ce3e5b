// SPDX-License-Identifier: BSD-3-Clause
// What MPI_Type_dup keeps: nonblocking collectives on thread communicators hold the user's datatypes by it.
#pragma once

namespace thence::mpi {

// True if a datatype that the user has freed lives as long as its duplicate, so that its handle can be given to MPI.
// (The known MPIs do that, since MPI_Type_get_contents of the duplicate refers to it.) Found out by a datatype of its
// own.
bool dup_keeps_original() noexcept;

} // namespace thence::mpi
