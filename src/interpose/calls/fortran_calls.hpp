// SPDX-License-Identifier: BSD-3-Clause
// The calls of programs in Fortran. MPI's library for Fortran converts the arguments of a call (handles, statuses,
// MPI_IN_PLACE, array sections, ...) and calls a function of C: on MPICH and Intel MPI mostly MPI_Wait, on Open MPI
// always PMPI_Wait, and so does the module mpi_f08 of the others for calls without a buffer. The first comes to
// libthence as a call of C does. For the second, the slots of that library through which it calls PMPI_Wait get the
// address of MPI_Wait, as the program finds it: one rule for all calls and all three interfaces of Fortran, and only
// MPI itself converts arguments. The PMPI_ calls of tools and of MPI's other libraries are left as they are.
//
// Invariant: a slot of PMPI_X holds the address of MPI's PMPI_X (or of the loader's resolver) or of MPI_X here, so a
// call through it is right at any time. The loader may resolve a slot for a thread that makes the first call through it
// while the address of ours is written; the slot then leads to MPI. So the slots are written when libthence is loaded,
// and later only for libraries that were loaded since.
#pragma once

namespace thence::pmpi {

// Looks for libraries of MPI for Fortran that were loaded since the last call, and redirects their calls. Returns true
// if there is one whose calls on requests come to libthence.
bool redirect_fortran_calls() noexcept;

// What was found: `calls come to libthence`, `no library of MPI for Fortran is loaded`, or `not interposed: ` and why.
const char *fortran_calls() noexcept;

} // namespace thence::pmpi
