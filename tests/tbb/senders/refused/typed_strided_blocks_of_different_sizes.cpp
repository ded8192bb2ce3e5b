// SPDX-License-Identifier: BSD-3-Clause
// refused: a buffer whose blocks differ in size must be contiguous
#include <thence/mpi.hpp>

#include <vector>

void use(const thence::communicator &comm, int mine, std::vector<int> &all, const std::vector<int> &counts) {
#ifdef MENDED
    thence::sync_wait(comm.allgatherv(mine, all, counts));
#else
    thence::sync_wait(comm.allgatherv(mine, thence::strided<int>(all.data(), 4, 1, 2), counts));
#endif
}
