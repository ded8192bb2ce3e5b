// SPDX-License-Identifier: BSD-3-Clause
// A user-level thread (ULT) of Argobots for each message, all on this thread. A blocked ULT costs nothing; the primary ULT
// polls MPI whenever its turn comes.
#include "variants.hpp"

#include "common/check.hpp"

#include <cstdlib>
#include <thence/argobots.h>
#include <thence/thence.h>

namespace latency_mt {
namespace {

void check(bool right, const char *what) {
    if (right)
        return;
    std::fprintf(stderr, "latency_mt: %s failed\n", what);
    MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
}

// Argobots, the primary ULT's pool and the continuation request, for as long as lanes run.
class Argobots {
public:
    Argobots() {
        setenv("ABT_THREAD_STACKSIZE", "131072", 0); // MPI may need more than the 16 KiB that Argobots gives
        check(ABT_init(0, nullptr) == ABT_SUCCESS, "ABT_init");
        ABT_xstream self;
        check(ABT_self_get_xstream(&self) == ABT_SUCCESS && ABT_xstream_get_main_pools(self, 1, &pool) == ABT_SUCCESS,
              "ABT_xstream_get_main_pools");
        apps::check(thence_cr_create(0, -1, MPI_INFO_NULL, &cr));
        apps::check(thence_task_runtime_add(thence_argobots_task_runtime()));
    }
    ~Argobots() {
        thence_free(&cr);
        thence_task_runtime_remove(thence_argobots_task_runtime());
        ABT_finalize();
    }
    Argobots(const Argobots &) = delete;
    Argobots &operator=(const Argobots &) = delete;

    ABT_pool pool{};
    MPI_Request cr = MPI_REQUEST_NULL;
};

struct Ult {
    Run *run;
    Lane *lane;
    MPI_Request cr;
    int *open; // lanes that have not ended
    ABT_thread handle{};
};

void run_lane(void *data) {
    const Ult &self = *static_cast<Ult *>(data);
    Run &run = *self.run;
    Lane &lane = *self.lane;
    MPI_Request request;
    ping_pong(
        lane, run.rounds,
        [&] {
            MPI_Isend(lane.outgoing(), lane.bytes(), MPI_BYTE, run.peer, lane.tag(), run.comm, &request);
            apps::check(thence_task_wait(1, &request, 0, MPI_STATUSES_IGNORE, self.cr));
        },
        [&] {
            MPI_Irecv(lane.incoming(), lane.bytes(), MPI_BYTE, run.peer, lane.tag(), run.comm, &request);
            apps::check(thence_task_wait(1, &request, 0, MPI_STATUSES_IGNORE, self.cr));
        });
    --*self.open;
}

} // namespace

void solve_argobots(Run &run) {
    const Argobots argobots;
    int open = static_cast<int>(run.lanes.size());
    std::vector<Ult> ults;
    for (Lane &lane : run.lanes)
        ults.push_back({&run, &lane, argobots.cr, &open});
    for (Ult &ult : ults)
        check(ABT_thread_create(argobots.pool, run_lane, &ult, ABT_THREAD_ATTR_NULL, &ult.handle) == ABT_SUCCESS,
              "ABT_thread_create");
    // No pause if nothing is complete: the time until a message is found is what is measured here.
    while (open > 0) {
        apps::check(thence_progress());
        ABT_thread_yield();
    }
    for (Ult &ult : ults)
        ABT_thread_free(&ult.handle); // joins it
}

} // namespace latency_mt
