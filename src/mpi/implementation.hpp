// SPDX-License-Identifier: BSD-3-Clause
// What an MPI is known to do otherwise than the standard says, found out at run time: one build for the standard ABI
// meets several MPIs.
#pragma once

#include <mpi.h>

namespace thence::mpi {

// True for MPICH and what is derived from it. Their MPI_Finalize turns locking off before it deletes the attributes of
// MPI_COMM_SELF: a thread of ours that is in MPI then leaves a lock taken, and MPI_Finalize aborts (a third to a half
// of all runs of a thread that polls, MPICH 4.0 and 5.0). No thread of ours may be in MPI when it begins.
bool finalizes_alone() noexcept;

// The binary interface that was built for: `native`, `standard`, or `standard, ` and how the MPI disagrees. MPIs from
// before the correction of October 2025 give some constants other values, MPI_ERRORS_RETURN that of MPI_ERRORS_ABORT.
const char *abi() noexcept;

// What this MPI takes for MPI_ERRORS_RETURN.
MPI_Errhandler errors_return() noexcept;

} // namespace thence::mpi
