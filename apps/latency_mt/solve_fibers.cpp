// SPDX-License-Identifier: BSD-3-Clause
// A fiber for each message, on one thread or several. A blocked fiber costs nothing; the scheduler polls MPI when all
// fibers of its thread are blocked. With fibers-yield nothing blocks: a fiber tests its request and yields, as plain
// MPI allows.
#include "variants.hpp"

#include <boost/fiber/algo/round_robin.hpp>
#include <thence/fiber.hpp>
#include <thread>

namespace latency_mt {
namespace {

// Runs the fibers of one worker thread: every run.threads-th lane.
template <class Wait> void run_worker(Run &run, int worker, Wait wait) {
    std::vector<boost::fibers::fiber> fibers;
    for (Lane &lane : run.lanes) {
        if (lane.tag() % run.threads != worker) {
            continue;
        }
        fibers.emplace_back([&run, &lane, wait] {
            MPI_Request request;
            ping_pong(
                lane, run.rounds,
                [&] {
                    MPI_Isend(lane.outgoing(), lane.bytes(), MPI_BYTE, run.peer, lane.tag(), run.comm, &request);
                    wait(request);
                },
                [&] {
                    MPI_Irecv(lane.incoming(), lane.bytes(), MPI_BYTE, run.peer, lane.tag(), run.comm, &request);
                    wait(request);
                });
        });
    }
    for (boost::fibers::fiber &fiber : fibers) {
        fiber.join();
    }
}

template <class Wait> void run_workers(Run &run, void (*prepare)(), Wait wait) {
    std::vector<std::thread> workers;
    for (int worker = 1; worker < run.threads; ++worker) {
        workers.emplace_back([&run, worker, prepare, wait] {
            prepare();
            run_worker(run, worker, wait);
        });
    }
    static thread_local const bool prepared = (prepare(), true);
    static_cast<void>(prepared);
    run_worker(run, 0, wait);
    for (std::thread &worker : workers) {
        worker.join();
    }
}

} // namespace

void solve_fibers(Run &run) {
    const thence::continuation_request cr;
    run_workers(
        run,
        [] { boost::fibers::use_scheduling_algorithm<thence::fibers::polling<boost::fibers::algo::round_robin>>(); },
        [&cr](MPI_Request &request) { thence::fibers::block(request, cr); });
}

void solve_fibers_yield(Run &run) {
    run_workers(
        run, [] { boost::fibers::use_scheduling_algorithm<boost::fibers::algo::round_robin>(); },
        [](MPI_Request &request) {
            for (int complete = 0; MPI_Test(&request, &complete, MPI_STATUS_IGNORE), complete == 0;) {
                boost::this_fiber::yield();
            }
        });
}

} // namespace latency_mt
