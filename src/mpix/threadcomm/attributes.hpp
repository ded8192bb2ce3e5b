// SPDX-License-Identifier: BSD-3-Clause
// Attributes of thread communicators: each thread has its own. They are attributes of a communicator of that thread
// alone, which is made when the first is set. So MPI calls the user's copy and delete functions; they get that
// communicator, not the thread communicator. The predefined attributes are those of MPI.
#pragma once

#include "mpix/threadcomm/communicator.hpp"

namespace thence::threadcomm {

THENCE_INTERNAL int set_attribute(communicator &comm, int keyval, void *value) noexcept;
THENCE_INTERNAL int get_attribute(communicator &comm, int keyval, void *value, int *flag) noexcept;
THENCE_INTERNAL int delete_attribute(communicator &comm, int keyval) noexcept;

void delete_attributes(member &me) noexcept;
// As MPI_Comm_dup does: a communicator that has them, or MPI_COMM_NULL if there are none. Returns an MPI error code.
int copy_attributes(const member &from, MPI_Comm &copied) noexcept;

} // namespace thence::threadcomm
