// SPDX-License-Identifier: BSD-3-Clause
// A server that answers requests until all clients have finished. Its coroutine always waits for the next request. When
// the clients are done, this pending receive is cancelled, which ends the coroutine. The server leaves some requests
// without a reply; a client waits for a reply until a deadline and then continues without it.
#include <thence/mpi.hpp>
#include <thence/timeout.hpp>

#include <chrono>
#include <cstdlib>
#include <iostream>

namespace ex = thence::ex;
using namespace std::chrono_literals;

namespace {

constexpr int request_tag = 1;
constexpr int requests = 50;
constexpr int every = 20; // of `every` requests one gets no reply

// The tag of a reply is the number of its request, so a late reply is not taken for another one.
constexpr int reply_tag(int i) {
    return 100 + i;
}
struct request {
    long number;
    int index;
    bool wants_answer;
};

ex::task<> serve(const thence::communicator &comm, long &served) {
    for (;;) {
        request asked{};
        const thence::message_status from = co_await comm.recv(asked, MPI_ANY_SOURCE, request_tag);
        ++served;
        if (asked.wants_answer) {
            const long square = asked.number * asked.number;
            co_await comm.send(square, from.source(), reply_tag(asked.index));
        }
    }
}

struct outcome {
    int wrong = 0;
    int unanswered = 0;
};

ex::task<> ask(const thence::communicator &comm, outcome &result) {
    for (int i = 0; i < requests; ++i) {
        const request asked{1000L * comm.rank() + i, i, i % every != every - 1};
        // The deadline of a reply that will come is so long that only a broken network exceeds it.
        const auto limit = asked.wants_answer ? 60000ms : 10ms;
        long reply = 0;
        try {
            co_await ex::when_all(comm.send(asked, 0, request_tag),
                                  comm.recv(reply, 0, reply_tag(i)) | thence::timeout(limit));
            result.wrong += reply == asked.number * asked.number ? 0 : 1;
        } catch (const thence::timed_out &) {
            result.unanswered += 1;
        }
    }
}

// Rank 0 is a client, too. Its server is stopped after the barrier, when all clients have their replies.
ex::task<> clients(const thence::communicator &comm, outcome &result) {
    co_await ask(comm, result);
    co_await comm.barrier();
}

ex::task<> clients_then_stop(const thence::communicator &comm, outcome &result) {
    co_await clients(comm, result);
    co_await ex::just_stopped();
}

} // namespace

int main(int argc, char **argv) {
    int level = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
    bool ok = false;
    {
        const thence::communicator world = thence::communicator::world().duplicate();
        outcome result;
        long served = 0;
        if (world.rank() == 0) {
            const bool stopped =
                !thence::sync_wait(ex::when_all(serve(world, served), clients_then_stop(world, result))).has_value();
            ok = stopped && served == static_cast<long>(requests) * world.size();
            std::cout << "server: " << served << " requests, then cancelled; " << result.unanswered
                      << " of rank 0 without an answer\n";
        } else {
            thence::sync_wait(clients(world, result));
            ok = true;
        }
        ok = ok && result.wrong == 0 && result.unanswered == requests / every;
        if (!ok) {
            std::cout << "rank " << world.rank() << ": wrong\n";
        }
    }
    MPI_Finalize();
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
