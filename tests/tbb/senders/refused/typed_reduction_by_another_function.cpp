// SPDX-License-Identifier: BSD-3-Clause
// refused: a reduction takes an MPI_Op, std::plus<>
#include <thence/mpi.hpp>

#include <functional>

void use(const thence::communicator &comm, int &n) {
#ifdef MENDED
    thence::sync_wait(comm.allreduce(n, std::multiplies<>()));
#else
    thence::sync_wait(comm.allreduce(n, std::modulus<>()));
#endif
}
