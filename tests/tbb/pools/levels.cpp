// SPDX-License-Identifier: BSD-3-Clause
// Pools where MPI was initialized for one thread at a time, and pools that are destroyed too early.
#include <thence/pools.hpp>
#include <thence/timeout.hpp>

#include <cstdio>
#include <cstring>

namespace ex = thence::ex;

namespace {

int failures = 0;

void expect(bool holds, const char *what) {
    if (!holds) {
        std::fprintf(stderr, "failed: %s\n", what);
        ++failures;
    }
}

bool refused(const thence::pools_options &options) {
    try {
        const thence::pools pools(options);
        return false;
    } catch (const std::invalid_argument &error) {
        return std::strstr(error.what(), "MPI_THREAD_MULTIPLE") != nullptr;
    }
}

int exchange(thence::pools &pools) {
    int in = 0;
    int out = 7;
    pools.sync_wait(ex::when_all(ex::just(&in, 1, MPI_INT, 0, 0, MPI_COMM_SELF) | pools.transform_mpi(MPI_Irecv) |
                                     ex::then([](auto &&...) {}),
                                 ex::just(&out, 1, MPI_INT, 0, 0, MPI_COMM_SELF) | pools.transform_mpi(MPI_Isend) |
                                     ex::then([](auto &&...) {})));
    return in;
}

/** Starts a receive that gets no message and is not an operation of the pools. @return whether its deadline ends it on
 *  the polling thread. */
bool times_out_on_the_mpi_thread(thence::pools &pools) {
    int in = 0;
    std::thread::id poller;
    std::thread::id ended;
    try {
        pools.sync_wait(ex::starts_on(pools.mpi(), ex::just() | ex::then([&] {
                                                       poller = std::this_thread::get_id();
                                                   }) | thence::transform_mpi([&](MPI_Request *made) {
                                                       return MPI_Irecv(&in, 1, MPI_INT, 0, 1, MPI_COMM_SELF, made);
                                                   }) | thence::timeout(std::chrono::milliseconds(5))) |
                        ex::upon_error([&](const std::exception_ptr &error) {
                            ended = std::this_thread::get_id();
                            std::rethrow_exception(error);
                        }) |
                        ex::then([](auto &&...) {}));
    } catch (const thence::timed_out &) {
        return ended == poller;
    }
    return false;
}

struct ignoring_receiver {
    using receiver_concept = ex::receiver_t;
    void set_value(auto &&...) &&noexcept {}
    void set_error(const std::exception_ptr &) &&noexcept {}
};

} // namespace

int main(int argc, char **argv) {
    const bool abandon = argc == 2 && std::strcmp(argv[1], "abandon") == 0;
    int level = 0;
    MPI_Init_thread(&argc, &argv, abandon ? MPI_THREAD_MULTIPLE : MPI_THREAD_SERIALIZED, &level);
    if (abandon) {
        int in = 0;
        thence::pools pools({.workers = 0});
        auto operation = ex::connect(ex::just(&in, 1, MPI_INT, 0, 0, MPI_COMM_SELF) | pools.transform_mpi(MPI_Irecv),
                                     ignoring_receiver{});
        ex::start(operation);
        return 0; // the pools are destroyed before the operation is complete
    }
    if (level < MPI_THREAD_MULTIPLE) {
        expect(refused({.workers = 1}), "workers need MPI_THREAD_MULTIPLE");
        expect(refused({.workers = 0, .mode = thence::parse_completion_mode("continuation,mpi-pool,inline-request")}),
               "operations that other threads than the polling thread start need it too");
    }
    {
        thence::pools without_workers({.workers = 0});
        expect(exchange(without_workers) == 7, "one thread does everything");
    }
    {
        thence::pools one_thread_of_mpi({.workers = 1, .mode = thence::parse_completion_mode("continuation,mpi-pool")});
        expect(exchange(one_thread_of_mpi) == 7, "only the polling thread calls MPI");
        if (level < MPI_THREAD_MULTIPLE) {
            expect(times_out_on_the_mpi_thread(one_thread_of_mpi),
                   "it makes progress for threads that wait in the pools");
        }
        MPI_Barrier(MPI_COMM_SELF); // the polling thread has left MPI
    }
    MPI_Finalize();
    return failures;
}
