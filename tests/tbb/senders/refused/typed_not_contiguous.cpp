// SPDX-License-Identifier: BSD-3-Clause
// refused: copy its elements into a std::vector
#include <thence/mpi.hpp>

#include <list>
#include <vector>

#ifdef MENDED
void use(const thence::communicator &comm, const std::vector<int> &values) {
#else
void use(const thence::communicator &comm, const std::list<int> &values) {
#endif
    thence::sync_wait(comm.send(values, 1));
}
