// SPDX-License-Identifier: BSD-3-Clause
// refused: an option is neither one of transform_mpi nor a thence::completion_mode
// errors: 1
#include <thence/pools.hpp>

namespace ex = thence::ex;

int start(MPI_Request *);

#ifdef MENDED
#define OPTIONS thence::parse_completion_mode("continuation")
#else
#define OPTIONS "continuation"
#endif

void use(thence::pools &pools) {
    pools.sync_wait(ex::just() | pools.transform_mpi(start, OPTIONS));
}
