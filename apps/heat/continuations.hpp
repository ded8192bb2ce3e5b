// SPDX-License-Identifier: BSD-3-Clause
// The code that couples messages to tasks: it attaches a callback to the request of a message, and makes progress on a
// thread that has no task. Both task variants use it, each with its own callback.
#pragma once

#include "halo.hpp"

#include "common/check.hpp"

#include <atomic>
#include <thence/thence.h>

namespace heat {

using apps::check;

class Continuations {
public:
    explicit Continuations(Run &r) : run(r) { check(thence_cr_create(0, -1, MPI_INFO_NULL, &cr)); }
    ~Continuations() {
        check(thence_wait(&cr, MPI_STATUS_IGNORE));
        check(thence_free(&cr));
    }
    Continuations(const Continuations &) = delete;
    Continuations &operator=(const Continuations &) = delete;

    // `then(error, statuses, data)` runs once when the operation of `flight` is complete, but never inside this call.
    // If the operation is complete already, the call returns true and `then` will not run.
    bool attach(const Flight &flight, thence_callback *then, void *data) {
        const Timed timed(run.recorder, Activity::start, flight.message.iteration, -1, flight.message.col);
        MPI_Request request = flight.request; // a copy, since `flight` may be reused before this call returns
        int done = 0;
        check(thence_attach(1, &request, then, data, 0, MPI_STATUSES_IGNORE, cr, &done));
        return done != 0;
    }

    // Called by a thread that finds no task.
    void progress() {
        const Timed timed(run.recorder, Activity::poll);
        check(thence_progress());
        last_poll.store(now(), std::memory_order_relaxed);
    }

    // Called between two tasks. It polls if no thread has polled for 20 microseconds, so that messages make progress
    // while every thread has tasks.
    void poll_if_due() {
        if (now() - last_poll.load(std::memory_order_relaxed) > poll_period) {
            progress();
        }
    }

private:
    static constexpr Nanoseconds poll_period = 20'000;

    Run &run;
    std::atomic<Nanoseconds> last_poll{0}; // by any thread
    MPI_Request cr = MPI_REQUEST_NULL;
};

} // namespace heat
