// SPDX-License-Identifier: BSD-3-Clause
// A server that answers requests until nobody needs it any more. It always waits for the next request; when all clients
// are done, that pending receive is cancelled, and the server's coroutine ends where it waits.
#include <thence/mpi.hpp>

#include <cstdlib>
#include <iostream>

namespace ex = thence::ex;

namespace {

constexpr int request_tag = 1;
constexpr int reply_tag = 2;
constexpr int requests = 50;

ex::task<> serve(const thence::communicator &comm, long &served) {
    for (;;) {
        long number = 0;
        const thence::message_status from = co_await comm.recv(number, MPI_ANY_SOURCE, request_tag);
        number *= number;
        co_await comm.send(number, from.source(), reply_tag);
        ++served;
    }
}

ex::task<> ask(const thence::communicator &comm, int &wrong) {
    for (int i = 0; i < requests; ++i) {
        const long number = 1000L * comm.rank() + i;
        long reply = 0;
        co_await ex::when_all(comm.send(number, 0, request_tag), comm.recv(reply, 0, reply_tag));
        wrong += reply == number * number ? 0 : 1;
    }
}

// Rank 0 asks itself too. Its server is stopped when the barrier says that everyone has all replies.
ex::task<> clients(const thence::communicator &comm, int &wrong) {
    co_await ask(comm, wrong);
    co_await comm.barrier();
}

ex::task<> clients_then_stop(const thence::communicator &comm, int &wrong) {
    co_await clients(comm, wrong);
    co_await ex::just_stopped();
}

} // namespace

int main(int argc, char **argv) {
    int level = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
    bool ok = false;
    {
        const thence::communicator world = thence::communicator::world().duplicate();
        int wrong = 0;
        long served = 0;
        if (world.rank() == 0) {
            const bool stopped =
                !thence::sync_wait(ex::when_all(serve(world, served), clients_then_stop(world, wrong))).has_value();
            ok = stopped && served == static_cast<long>(requests) * world.size();
            std::cout << "server: " << served << " requests, then cancelled\n";
        } else {
            thence::sync_wait(clients(world, wrong));
            ok = true;
        }
        ok = ok && wrong == 0;
        if (!ok)
            std::cout << "rank " << world.rank() << ": wrong\n";
    }
    MPI_Finalize();
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
