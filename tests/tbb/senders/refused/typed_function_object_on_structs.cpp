// SPDX-License-Identifier: BSD-3-Clause
// refused: pass an MPI_Op of your own
#include <thence/mpi.hpp>

#include <functional>

struct point {
    double x, y;
};

void use(const thence::communicator &comm, point &p, [[maybe_unused]] MPI_Op add_points) {
#ifdef MENDED
    thence::sync_wait(comm.allreduce(p, add_points));
#else
    thence::sync_wait(comm.allreduce(p, std::plus<>()));
#endif
}
