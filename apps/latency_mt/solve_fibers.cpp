// SPDX-License-Identifier: BSD-3-Clause
// A fiber for each message, all on this thread. A blocked fiber costs nothing; the scheduler polls MPI when all are blocked.
#include "variants.hpp"

#include <boost/fiber/algo/round_robin.hpp>
#include <thence/fiber.hpp>

namespace latency_mt {

void solve_fibers(Run &run) {
    static const bool once = [] {
        boost::fibers::use_scheduling_algorithm<thence::fibers::polling<boost::fibers::algo::round_robin>>();
        return true;
    }();
    static_cast<void>(once);
    const thence::continuation_request cr;
    std::vector<boost::fibers::fiber> fibers;
    for (Lane &lane : run.lanes)
        fibers.emplace_back([&run, &lane, &cr] {
            MPI_Request request;
            ping_pong(
                lane, run.rounds,
                [&] {
                    MPI_Isend(lane.outgoing(), lane.bytes(), MPI_BYTE, run.peer, lane.tag(), run.comm, &request);
                    thence::fibers::block(request, cr);
                },
                [&] {
                    MPI_Irecv(lane.incoming(), lane.bytes(), MPI_BYTE, run.peer, lane.tag(), run.comm, &request);
                    thence::fibers::block(request, cr);
                });
        });
    for (boost::fibers::fiber &fiber : fibers)
        fiber.join();
}

} // namespace latency_mt
