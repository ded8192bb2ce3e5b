// SPDX-License-Identifier: BSD-3-Clause
// refused: an rvalue std::initializer_list or array cannot be moved into the operation
#include <thence/mpi.hpp>

#include <array>

auto start(const thence::communicator &comm) {
#ifdef MENDED
    return comm.send(std::array<int, 3>{1, 2, 3}, 1);
#else
    return comm.send(std::initializer_list<int>{1, 2, 3}, 1);
#endif
}
