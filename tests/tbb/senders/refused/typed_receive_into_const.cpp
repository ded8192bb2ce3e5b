// SPDX-License-Identifier: BSD-3-Clause
// refused: recv: the buffer is const
#include <thence/mpi.hpp>

#include <vector>

#ifdef MENDED
void use(const thence::communicator &comm, std::vector<int> &values) {
#else
void use(const thence::communicator &comm, const std::vector<int> &values) {
#endif
    thence::sync_wait(comm.recv(values, 0));
}
