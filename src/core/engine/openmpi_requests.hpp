// SPDX-License-Identifier: BSD-3-Clause
// Open MPI's requests, read and tested by both engines for this MPI. The fields that prove_fields() covers are proved.
#pragma once

#include "core/engine/openmpi_layout.hpp"
#include "core/engine/polled_set.hpp"

namespace thence::engine::openmpi {

// How the polled set reads and tests these requests. It never calls MPI_Testsome on them: after an error, Open MPI's
// MPI_Testsome frees every request of its array whose error field is not zero. In a pending send that field is a
// remnant of the request that used the memory before. So the send would be lost.
extern const polled_set::methods read_requests;

// engine::take_complete() for these requests.
int take_complete(MPI_Request &request, int &flag, MPI_Status *status) noexcept;

} // namespace thence::engine::openmpi
