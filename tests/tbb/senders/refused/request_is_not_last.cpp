// SPDX-License-Identifier: BSD-3-Clause
// refused: its last parameter must be the MPI_Request \*
// errors: 1
#include <thence/transform_mpi.hpp>

namespace ex = thence::ex;

#ifdef MENDED
int start(int, MPI_Request *);
#else
int start(MPI_Request *, int);
#endif

void use() {
    thence::sync_wait(ex::just(1) | thence::transform_mpi(start));
}
