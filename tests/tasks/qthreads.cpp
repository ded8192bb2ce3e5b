// SPDX-License-Identifier: BSD-3-Clause
// Qthreads as tasks: of Qthreads itself if it is found, always of the stand-in.
#include <thence/qthreads.h>

#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <vector>

namespace {

struct ults {
    static void start() {
        EXPECT_EQ(thence_qthreads_task_runtime()->current(), nullptr) << "before it is initialized";
        setenv("QT_STACK_SIZE", "131072", 0);
        setenv("QT_NUM_SHEPHERDS", "2", 1);
        setenv("QT_NUM_WORKERS_PER_SHEPHERD", "1", 1);
        qthread_initialize();
    }
    static void stop() { qthread_finalize(); }
    static const thence_task_runtime *table() { return thence_qthreads_task_runtime(); }
    static void run(std::vector<std::function<void()>> bodies) {
        std::vector<aligned_t> results(bodies.size());
        for (std::size_t i = 0; i < results.size(); ++i) {
            qthread_fork(
                [](void *body) {
                    (*static_cast<std::function<void()> *>(body))();
                    return aligned_t{0};
                },
                &bodies[i], &results[i]);
        }
        for (const aligned_t &each : results) {
            qthread_readFF(nullptr, &each);
        }
    }
    static void yield() { qthread_yield(); }
};

} // namespace

#include "ults.hpp"

namespace {

TEST_F(ult, of_qthreads_may_be_started_on_a_plain_thread) {
    std::atomic<bool> ran{false};
    std::thread([&] {
        EXPECT_EQ(table_.spawn([](void *argument) { *static_cast<std::atomic<bool> *>(argument) = true; }, &ran,
                               nullptr, nullptr, nullptr),
                  0);
    }).join();
    while (!ran) {
        ults::yield();
    }
}

} // namespace
