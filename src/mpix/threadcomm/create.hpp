// SPDX-License-Identifier: BSD-3-Clause
// The calls that make, start, finish and free thread communicators. Each returns an MPI error code and has reported the
// error. `call`: the name of the user's call.
#pragma once

#include "core/mpi/extension.hpp"
#include "mpix/threadcomm/communicator.hpp"

namespace thence::threadcomm {

mpi::extension_facts facts() noexcept;

THENCE_INTERNAL int init(const char *call, MPI_Comm comm, int threads, MPI_Comm *created) noexcept;
THENCE_INTERNAL int start(const char *call, MPI_Comm comm, int wanted) noexcept;
THENCE_INTERNAL int finish(const char *call, MPI_Comm comm) noexcept;
THENCE_INTERNAL int free_root(const char *call, MPI_Comm *comm) noexcept;

// On a thread communicator, as MPI's calls of these names.
THENCE_INTERNAL int split(const char *call, communicator &comm, int color, int key, MPI_Comm *created) noexcept;
THENCE_INTERNAL int dup(const char *call, communicator &comm, MPI_Comm *created) noexcept;
// It blocks as MPI_Comm_dup does. The request is complete.
THENCE_INTERNAL int idup(const char *call, communicator &comm, MPI_Comm *created, MPI_Request *request) noexcept;
THENCE_INTERNAL int free(const char *call, communicator &comm, MPI_Comm *handle) noexcept;
THENCE_INTERNAL int rank(const char *call, communicator &comm, int *result) noexcept;
THENCE_INTERNAL int size(const char *call, communicator &comm, int *result) noexcept;
// One of the two may be null: a communicator of MPI's own.
THENCE_INTERNAL int compare(const communicator *one, const communicator *other, int *result) noexcept;

} // namespace thence::threadcomm
