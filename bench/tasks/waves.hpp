// SPDX-License-Identifier: BSD-3-Clause
// Waves of messages to self, 64 in flight, in tasks of two runtimes: one task posts a receive, another one sends the
// message. What a task does is passed in, so that the same tasks can be run without MPI.
//
// Invariant: one thread runs all tasks. Counts then do not depend on how threads share the work.
#pragma once

#include <thence/dataflow.h>
#include <thence/dataflow.hpp>

#include <array>
#include <atomic>
#include <omp.h>
#include <semaphore>
#include <thread>

namespace measure {

constexpr int in_flight = 64;

struct wave_data {
    std::array<int, in_flight> in{};
    std::array<int, in_flight> out{};
};

// Detached tasks of OpenMP. GCC's runtime runs a task at once, and its creator then waits for its event, if 64 tasks per
// thread are unfinished. So the team has threads that do nothing but wait for the end. A taskwait begins with the task
// that was created last, so the sends are created first: all receives are posted before.
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

// Tasks of the data-flow layer. Its only worker is kept busy, so the thread that waits runs the tasks.
class flow_team {
public:
    flow_team() : flow_({.workers = 1, .most_open = thence::flow_options::no_limit}) {
        flow_.submit({}, [this] {
            busy_.release();
            over_.acquire();
        });
        busy_.acquire(); // this thread does not wait in the flow, so the worker has begun the task
    }
    ~flow_team() {
        over_.release();
        flow_.taskwait();
    }
    flow_team(const flow_team &) = delete;
    flow_team &operator=(const flow_team &) = delete;

    thence::flow &flow() { return flow_; }

    template <class Receive, class Send> void wave(wave_data &data, Receive receive, Send send) {
        for (int k = 0; k < in_flight; ++k) {
            flow_.submit({thence::out(&data.in[k])}, [receive, k] { receive(k); });
        }
        for (int k = 0; k < in_flight; ++k) {
            flow_.submit({thence::in(&data.out[k])}, [send, k] { send(k); });
        }
        wait(data);
    }

private:
    // Not taskwait(): that would wait for the busy worker, too.
    void wait(const wave_data &data) {
        std::array<thence::access, in_flight> received;
        for (int k = 0; k < in_flight; ++k) {
            received[k] = thence::in(&data.in[k]);
        }
        flow_.taskwait(std::span<const thence::access>(received));
    }

    thence::flow flow_;
    std::binary_semaphore busy_{0};
    std::binary_semaphore over_{0};
};

} // namespace measure
