// SPDX-License-Identifier: BSD-3-Clause
// refused: this element type cannot be sent
#include <thence/mpi.hpp>

#include <vector>

#ifdef MENDED
void use(const thence::communicator &comm, std::vector<int> &cells) {
#else
void use(const thence::communicator &comm, std::vector<int *> &cells) {
#endif
    thence::sync_wait(comm.bcast(cells));
}
