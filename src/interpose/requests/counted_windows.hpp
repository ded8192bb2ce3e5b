// SPDX-License-Identifier: BSD-3-Clause
// One-sided communication of the program, for the helper thread (core/progress/plain_operations.hpp).
//
// An operation without a request (MPI_Put) is outstanding until a call that completes it at its target, such as
// MPI_Win_flush, returns. All of one window to one target count as one. An exposure epoch is outstanding from
// MPI_Win_post to MPI_Win_wait. Any rank may access a window at any time, unless its info says no_locks: while there is
// such a window, the helper looks from time to time.
//
// Each function is called only while calls are observed, after MPI has returned successfully.
#pragma once

#include "core/base/visibility.hpp"
#include "core/progress/plain_operations.hpp"

#include <mpi.h>

namespace thence::interpose {

THENCE_INTERNAL void count_window(MPI_Win created, MPI_Info info) noexcept;
THENCE_INTERNAL void count_freed_window(MPI_Win freed) noexcept;

THENCE_INTERNAL void count_access(MPI_Win window, int target) noexcept;
THENCE_INTERNAL void end_accesses(MPI_Win window, int target) noexcept;
THENCE_INTERNAL void end_accesses(MPI_Win window) noexcept; // to all targets

THENCE_INTERNAL void count_exposure(MPI_Win window) noexcept;
THENCE_INTERNAL void end_exposure(MPI_Win window) noexcept;

} // namespace thence::interpose
