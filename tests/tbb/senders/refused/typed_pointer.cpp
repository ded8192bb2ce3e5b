// SPDX-License-Identifier: BSD-3-Clause
// refused: pass std::span\(pointer, count\)
#include <thence/mpi.hpp>

void use(const thence::communicator &comm, double *first) {
#ifdef MENDED
    thence::sync_wait(comm.send(std::span(first, 8), 1));
#else
    thence::sync_wait(comm.send(first, 1));
#endif
}
