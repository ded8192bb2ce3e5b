// SPDX-License-Identifier: BSD-3-Clause
// What the library's own API and its facades share: checked entry points that report errors as MPI does.
#pragma once

#include "continuation/attach.hpp"
#include "mpi/calls.hpp"

namespace thence::c_api {

inline int fail(int code) noexcept { return mpi::report(code); }

int create(unsigned flags, int max_poll, MPI_Info info, MPI_Request *cr);
int attach(int count, MPI_Request requests[], const continuation::attachment &what, MPI_Status statuses[],
           MPI_Request cr, int *flag) noexcept;

} // namespace thence::c_api
