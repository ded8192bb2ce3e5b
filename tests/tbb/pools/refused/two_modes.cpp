// SPDX-License-Identifier: BSD-3-Clause
// refused: transform_mpi: more than one mode
// errors: 1
#include <thence/pools.hpp>

namespace ex = thence::ex;

int start(MPI_Request *);

#ifdef MENDED
#define OPTIONS                                                                                                        \
    thence::completion_mode {}
#else
#define OPTIONS                                                                                                        \
    thence::completion_mode{}, thence::completion_mode {}
#endif

void use(thence::pools &pools) {
    pools.sync_wait(ex::just() | pools.transform_mpi(start, OPTIONS));
}
