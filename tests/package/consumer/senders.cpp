// SPDX-License-Identifier: BSD-3-Clause
// A coroutine over MPI that links thence::senders and names no standard of C++: the target brings C++20 and the core.
#include <thence/mpi.hpp>
#include <thence/timeout.hpp>

#include <chrono>
#include <cstdio>

namespace ex = thence::ex;

namespace {

ex::task<> exchange(const thence::communicator &comm, int &got) {
    const int mine = comm.rank();
    const int other = comm.size() - 1 - mine;
    co_await (comm.sendrecv(mine, other, got, other) | thence::timeout(std::chrono::seconds(30)));
}

} // namespace

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    bool good = false;
    {
        const auto comm = thence::communicator::world().duplicate();
        int got = -1;
        thence::sync_wait(exchange(comm, got));
        good = got == comm.size() - 1 - comm.rank();
        std::printf("%d got %d\n", comm.rank(), got);
    }
    MPI_Finalize();
    return good ? 0 : 1;
}
