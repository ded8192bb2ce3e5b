// SPDX-License-Identifier: BSD-3-Clause
// refused: the callable must return an MPI error code \(int\) or nothing
#include <thence/transform_mpi.hpp>

namespace ex = thence::ex;

void use() {
    thence::sync_wait(ex::just() | thence::transform_mpi([](MPI_Request *) {
#ifndef MENDED
                          return 1.0;
#endif
                      }));
}
