// SPDX-License-Identifier: BSD-3-Clause
// What libthence tells the library: that it is loaded, and that MPI begins and ends.
#pragma once

#include "core/base/visibility.hpp"
#include "core/progress/interposed.hpp"
#include "core/progress/reaches_libthence.hpp"

namespace thence::interpose {

using progress::interposition;
using progress::reaches_libthence;

// Called when libthence is loaded. `look`: says where MPI's calls lead. It is called once, with the first use. Returns
// true.
THENCE_INTERNAL bool register_lookup(interposition (*look)() noexcept) noexcept;

// Calls this MPI_Init such that MPI gives MPI_THREAD_MULTIPLE (core/mpi/raised_init.hpp).
THENCE_INTERNAL int with_raised_level(int (*init)(int *, char ***), int *argc, char ***argv);

// Called by MPI_Init after MPI's own.
THENCE_INTERNAL void mpi_initialized() noexcept;

// MPI_Finalize: before MPI's own begins, no thread of the library stays in MPI where MPI forbids that. The library ends
// in MPI's own (core/continuation/lifetime.hpp). `where`: the code address of the user's call.
THENCE_INTERNAL int finalize(int (*by_mpi)(), const void *where) noexcept;

// True if this thread is inside a callback.
THENCE_INTERNAL bool in_callback() noexcept;

} // namespace thence::interpose
