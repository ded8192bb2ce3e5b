// SPDX-License-Identifier: BSD-3-Clause
// Waves of messages to self, 64 in flight, in tasks of two runtimes: one task posts a receive, another one sends the
// message. What a task does is passed in, so that the same tasks can be run without MPI.
//
// Invariant: one thread runs all tasks. Counts then do not depend on how threads share the work.
#pragma once

#include "tasks/flow_on_caller.hpp"

#include <thence/dataflow.hpp>
#include <thence/thence.h>

#include <array>
#include <omp.h>
#include <semaphore>

namespace measure {

constexpr int in_flight = 64;

struct wave_data {
    std::array<int, in_flight> in{};
    std::array<int, in_flight> out{};
};

// Detached tasks of OpenMP. GCC's runtime runs a task at once, and its creator then waits for its event, if 64 tasks
// per thread are unfinished. So the team has threads that do nothing but wait for the end. A taskwait begins with the
// task that was created last, so the sends are created first: all receives are posted before.
class openmp_team {
public:
    // Calls `body` on the thread that runs the tasks.
    template <class Body> static void lead(Body body) {
        std::counting_semaphore<threads> over(0);
#pragma omp parallel num_threads(threads)
        {
            if (omp_get_thread_num() == 0) {
                body();
                over.release(threads - 1);
            } else {
                over.acquire();
            }
        }
    }
    // `receive` and `send` take the number of the message and the event that completes their task.
    template <class Receive, class Send> static void wave(wave_data &data, Receive receive, Send send) {
        for (int k = 0; k < in_flight; ++k) {
            omp_event_handle_t event{};
            [[maybe_unused]] const int *const buffer = &data.out[k];
#pragma omp task detach(event) depend(in : buffer[0]) firstprivate(k)
            send(k, event);
        }
        for (int k = 0; k < in_flight; ++k) {
            omp_event_handle_t event{};
            [[maybe_unused]] const int *const buffer = &data.in[k];
#pragma omp task detach(event) depend(out : buffer[0]) firstprivate(k)
            receive(k, event);
        }
#pragma omp taskwait
    }

private:
    static constexpr int threads = 4;
};

// Tasks of the data-flow layer.
class flow_team {
public:
    thence::flow &flow() { return on_caller_.flow(); }

    // The last send also makes progress, which completes the tasks of all receives on this thread. Else the helper
    // thread completes some of them, which is not counted: on the processor 7 %, under callgrind any part.
    template <class Receive, class Send> void wave_with_progress(wave_data &data, Receive receive, Send send) {
        wave(data, receive, [send](int k) {
            send(k);
            if (k == in_flight - 1) {
                thence_progress();
            }
        });
    }
    template <class Receive, class Send> void wave(wave_data &data, Receive receive, Send send) {
        for (int k = 0; k < in_flight; ++k) {
            flow().submit({thence::out(&data.in[k])}, [receive, k] { receive(k); });
        }
        for (int k = 0; k < in_flight; ++k) {
            flow().submit({thence::in(&data.out[k])}, [send, k] { send(k); });
        }
        wait(data);
    }

private:
    void wait(const wave_data &data) {
        std::array<thence::access, in_flight> received;
        for (int k = 0; k < in_flight; ++k) {
            received[k] = thence::in(&data.in[k]);
        }
        on_caller_.wait(received);
    }

    flow_on_caller on_caller_;
};

} // namespace measure
