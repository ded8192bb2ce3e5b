// SPDX-License-Identifier: BSD-3-Clause
// refused: the callable cannot be called with lvalues of the values
// errors: 1
#include <thence/transform_mpi.hpp>

namespace ex = thence::ex;

void use(double *buffer) {
#ifdef MENDED
    auto values = ex::just(buffer, 1, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD);
#else
    auto values = ex::just(buffer, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD); // no tag
#endif
    thence::sync_wait(std::move(values) | thence::transform_mpi(MPI_Isend));
}
