// SPDX-License-Identifier: BSD-3-Clause
// refused: thence::in_completion is for operations without pools
// errors: 1
#include <thence/pools.hpp>

namespace ex = thence::ex;

int start(MPI_Request *);

#ifdef MENDED
#define OPTIONS thence::uncancellable
#else
#define OPTIONS thence::in_completion
#endif

void use(thence::pools &pools) {
    pools.sync_wait(ex::just() | pools.transform_mpi(start, OPTIONS));
}
