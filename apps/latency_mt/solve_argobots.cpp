// SPDX-License-Identifier: BSD-3-Clause
// A user-level thread (ULT) of Argobots for each message, on one execution stream or several. A blocked ULT costs
// nothing; one ULT of each stream polls MPI whenever its turn comes. With argobots-yield nothing blocks: a ULT tests
// its request and yields, as plain MPI allows.
#include "variants.hpp"

#include "common/check.hpp"

#include <atomic>
#include <cstdlib>
#include <thence/argobots.h>
#include <thence/thence.h>

namespace latency_mt {
namespace {

void check(bool right, const char *what) {
    if (right) {
        return;
    }
    std::fprintf(stderr, "latency_mt: %s failed\n", what);
    MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
}

// Argobots, the pool of each stream and the continuation request, for as long as lanes run.
class Argobots {
public:
    explicit Argobots(int threads) {
        setenv("ABT_THREAD_STACKSIZE", "131072", 0); // MPI may need more than the 16 KiB that Argobots gives
        check(ABT_init(0, nullptr) == ABT_SUCCESS, "ABT_init");
        ABT_xstream self;
        check(ABT_self_get_xstream(&self) == ABT_SUCCESS, "ABT_self_get_xstream");
        add_pool_of(self);
        for (int i = 1; i < threads; ++i) {
            check(ABT_xstream_create(nullptr, &streams.emplace_back()) == ABT_SUCCESS, "ABT_xstream_create");
            add_pool_of(streams.back());
        }
        apps::check(thence_cr_create(0, -1, MPI_INFO_NULL, &cr));
        apps::check(thence_task_runtime_add(thence_argobots_task_runtime()));
    }
    ~Argobots() {
        thence_free(&cr);
        thence_task_runtime_remove(thence_argobots_task_runtime());
        for (ABT_xstream &stream : streams) {
            ABT_xstream_join(stream);
            ABT_xstream_free(&stream);
        }
        ABT_finalize();
    }
    Argobots(const Argobots &) = delete;
    Argobots &operator=(const Argobots &) = delete;

    std::vector<ABT_pool> pools;
    MPI_Request cr = MPI_REQUEST_NULL;

private:
    void add_pool_of(ABT_xstream stream) {
        check(ABT_xstream_get_main_pools(stream, 1, &pools.emplace_back()) == ABT_SUCCESS,
              "ABT_xstream_get_main_pools");
    }
    std::vector<ABT_xstream> streams; // without the primary one
};

struct Ult {
    Run *run;
    Lane *lane;
    MPI_Request cr;
    std::atomic<int> *open; // lanes that have not ended
    ABT_thread handle{};
};

void block(MPI_Request &request, MPI_Request cr) {
    apps::check(thence_task_wait(1, &request, 0, MPI_STATUSES_IGNORE, cr));
}

void yield(MPI_Request &request, MPI_Request) {
    for (int complete = 0; MPI_Test(&request, &complete, MPI_STATUS_IGNORE), complete == 0;) {
        ABT_thread_yield();
    }
}

template <void (*wait)(MPI_Request &, MPI_Request)> void run_lane(void *data) {
    const Ult &self = *static_cast<Ult *>(data);
    Run &run = *self.run;
    Lane &lane = *self.lane;
    MPI_Request request;
    ping_pong(
        lane, run.rounds,
        [&] {
            MPI_Isend(lane.outgoing(), lane.bytes(), MPI_BYTE, run.peer, lane.tag(), run.comm, &request);
            wait(request, self.cr);
        },
        [&] {
            MPI_Irecv(lane.incoming(), lane.bytes(), MPI_BYTE, run.peer, lane.tag(), run.comm, &request);
            wait(request, self.cr);
        });
    --*self.open;
}

// No pause if nothing is complete: the time until a message is found is what is measured here.
void poll(void *data) {
    while (*static_cast<std::atomic<int> *>(data) > 0) {
        apps::check(thence_progress());
        ABT_thread_yield();
    }
}

void run_ults(Run &run, void (*body)(void *)) {
    const Argobots argobots(run.threads);
    std::atomic<int> open = static_cast<int>(run.lanes.size());
    std::vector<Ult> ults;
    ults.reserve(run.lanes.size());
    for (Lane &lane : run.lanes) {
        ults.push_back({&run, &lane, argobots.cr, &open});
    }
    std::vector<ABT_thread> pollers(argobots.pools.size() - 1);
    const auto create = [&](std::size_t stream, void (*function)(void *), void *argument, ABT_thread &handle) {
        check(ABT_thread_create(argobots.pools[stream], function, argument, ABT_THREAD_ATTR_NULL, &handle) ==
                  ABT_SUCCESS,
              "ABT_thread_create");
    };
    for (std::size_t i = 0; i < ults.size(); ++i) {
        create(i % argobots.pools.size(), body, &ults[i], ults[i].handle);
    }
    for (std::size_t i = 0; i < pollers.size(); ++i) {
        create(i + 1, poll, &open, pollers[i]);
    }
    poll(&open); // the primary ULT is that of the primary stream
    for (Ult &ult : ults) {
        ABT_thread_free(&ult.handle); // joins it
    }
    for (ABT_thread &poller : pollers) {
        ABT_thread_free(&poller);
    }
}

} // namespace

void solve_argobots(Run &run) {
    run_ults(run, run_lane<block>);
}
void solve_argobots_yield(Run &run) {
    run_ults(run, run_lane<yield>);
}

} // namespace latency_mt
