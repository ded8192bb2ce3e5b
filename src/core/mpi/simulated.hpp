// SPDX-License-Identifier: BSD-3-Clause
// SimGrid's SMPI simulates all ranks in one process. See simulated.cpp.
#pragma once

#include "core/mpi/calls.hpp"

namespace thence::mpi {

#if defined(SMPI_H)
void wait_in_simulated_time() noexcept;
// A probe takes simulated time, but lets no message arrive. Whether this one is of a rank that only polls.
bool may_probe_in_simulated_time() noexcept;
#endif

} // namespace thence::mpi
