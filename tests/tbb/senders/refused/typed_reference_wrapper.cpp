// SPDX-License-Identifier: BSD-3-Clause
// refused: this element type cannot be sent
#include <thence/mpi.hpp>

#include <functional>

void use(const thence::communicator &comm, int &x) {
#ifdef MENDED
    thence::sync_wait(comm.recv(x, 0));
#else
    thence::sync_wait(comm.recv(std::ref(x), 0));
#endif
}
