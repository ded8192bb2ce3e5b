// SPDX-License-Identifier: BSD-3-Clause
// refused: both buffers must have elements of the same type
#include <thence/mpi.hpp>

#include <vector>

#ifdef MENDED
void use(const thence::communicator &comm, std::vector<double> &all, double mine) {
#else
void use(const thence::communicator &comm, std::vector<double> &all, float mine) {
#endif
    thence::sync_wait(comm.allgather(mine, all));
}
