// SPDX-License-Identifier: BSD-3-Clause
// A dynamic task farm: rank 0 sends each worker the next task as soon as it returns a result. There is one coroutine
// per worker, in a scope that waits for all of them. Rank 0 works, too, between the messages.
#include <thence/mpi.hpp>

#include <algorithm>
#include <cstdlib>
#include <iostream>

namespace ex = thence::ex;

namespace {

constexpr int task_tag = 1;
constexpr int result_tag = 2;
constexpr long limit = 60000;
constexpr long step = 500;

// A range of numbers to test; larger numbers take longer. An empty range ends the worker.
struct job {
    long first, last;
};

long primes(const job &j) {
    long found = 0;
    for (long n = std::max(2L, j.first); n < j.last; ++n) {
        bool prime = true;
        for (long d = 2; d * d <= n && prime; ++d) {
            prime = n % d != 0;
        }
        found += prime ? 1 : 0;
    }
    return found;
}

struct master {
    const thence::communicator &comm;
    long next = 0;
    long total = 0;
    int failures = 0;

    ex::task<> look_after(int worker) {
        while (next < limit) {
            const job given{next, next + step};
            next = given.last;
            long found = 0;
            co_await ex::when_all(comm.send(given, worker, task_tag), comm.recv(found, worker, result_tag));
            total += found;
        }
        co_await comm.send(job{0, 0}, worker, task_tag);
    }
    ex::task<> run() {
        ex::counting_scope scope;
        for (int worker = 0; worker < comm.size(); ++worker) {
            ex::spawn(look_after(worker) | ex::upon_error([this](const std::exception_ptr &) noexcept { ++failures; }),
                      scope.get_token());
        }
        co_await scope.join();
    }
};

ex::task<int> work(const thence::communicator &comm) {
    for (int done = 0;; ++done) {
        job given{};
        co_await comm.recv(given, 0, task_tag);
        if (given.first == given.last) {
            co_return done;
        }
        co_await comm.send(primes(given), 0, result_tag);
    }
}

} // namespace

int main(int argc, char **argv) {
    int level = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
    bool ok = true;
    {
        const thence::communicator world = thence::communicator::world().duplicate();
        int done = 0;
        if (world.rank() == 0) {
            master farm{world};
            done = std::get<0>(thence::sync_wait(ex::when_all(farm.run(), work(world))).value());
            ok = farm.failures == 0 && farm.total == 6057; // primes below 60,000
            std::cout << farm.total << " primes below " << limit << (ok ? "\n" : ", wrong\n");
        } else {
            done = std::get<0>(thence::sync_wait(work(world)).value());
        }
        std::cout << "rank " << world.rank() << ": " << done << " tasks\n";
    }
    MPI_Finalize();
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
