// SPDX-License-Identifier: BSD-3-Clause
// refused: this is an adaptor that has no sender before it
// errors: 1
#include <thence/transform_mpi.hpp>

namespace ex = thence::ex;

void use() {
    auto f = [](MPI_Request *) {};
#ifdef MENDED
    thence::sync_wait(ex::just() | thence::transform_mpi(f));
#else
    thence::sync_wait(thence::transform_mpi(f));
#endif
}
