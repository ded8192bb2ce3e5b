// SPDX-License-Identifier: BSD-3-Clause
// The few lines that bind a message to a task: attach a callback of Thence to its request, and make progress in a
// thread that has nothing else to do. Both task variants use these; the callback is theirs.
#pragma once

#include "halo.hpp"

#include <atomic>
#include <thence/thence.h>

namespace heat {

class Continuations {
public:
    explicit Continuations(Run &r) : run(r) { check(thence_cr_create(0, -1, MPI_INFO_NULL, &cr), "create"); }
    ~Continuations() {
        check(thence_wait(&cr, MPI_STATUS_IGNORE), "wait");
        thence_free(&cr);
    }
    Continuations(const Continuations &) = delete;
    Continuations &operator=(const Continuations &) = delete;

    // `then(error, statuses, data)` runs once, when the operation of `flight` is complete; never inside this call. If
    // it is complete already the answer is true and `then` will not run.
    bool attach(const Flight &flight, thence_callback *then, void *data) {
        const Timed timed(run.recorder, Activity::start, flight.message.iteration, -1, flight.message.col);
        MPI_Request request = flight.request; // a copy: `flight` may be in use again before this call returns
        int done = 0;
        check(thence_attach(1, &request, then, data, 0, MPI_STATUSES_IGNORE, cr, &done), "attach");
        return done != 0;
    }

    // What a thread does that finds no task.
    void progress() {
        const Timed timed(run.recorder, Activity::poll);
        thence_progress();
        last_poll.store(now(), std::memory_order_relaxed);
    }

    // What a thread does between two tasks: while there is always a task, messages must not wait for the end of them
    // all.
    void glance() {
        if (now() - last_poll.load(std::memory_order_relaxed) > glance_period)
            progress();
    }

    // The default error handler of MPI ends the program before this is seen; here for programs that set another one.
    static void check(int error, const char *what) {
        if (error == MPI_SUCCESS)
            return;
        std::fprintf(stderr, "heat: continuation: %s failed with MPI error %d\n", what, error);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }

private:
    static constexpr Nanoseconds glance_period = 20'000;

    Run &run;
    std::atomic<Nanoseconds> last_poll{0}; // by any thread
    MPI_Request cr = MPI_REQUEST_NULL;
};

} // namespace heat
