// SPDX-License-Identifier: BSD-3-Clause
// refused: this element type cannot be sent: it is not trivially copyable, or has a pointer
#include <thence/mpi.hpp>

#include <vector>

struct matrix_view {
    double *cells;
    std::size_t rows, columns, stride;
};

void use(const thence::communicator &comm, const matrix_view &m) {
#ifdef MENDED
    thence::sync_wait(comm.send(thence::strided<double>(m.cells, m.rows, m.columns, m.stride), 1));
#else
    thence::sync_wait(comm.send(m, 1));
#endif
}
