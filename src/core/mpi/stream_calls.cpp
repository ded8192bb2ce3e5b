// SPDX-License-Identifier: BSD-3-Clause
#include "core/mpi/stream_calls.hpp"

namespace thence::mpi {

stream_calls stream_table = {
#define X(name) &PMPI_##name,
    THENCE_MPI_STREAM_CALLS(X) THENCE_MPI_COLLECTIVES(X) THENCE_MPI_LARGE(X)
#undef X
};

} // namespace thence::mpi
