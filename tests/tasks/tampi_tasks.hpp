// SPDX-License-Identifier: BSD-3-Clause
// What the tests of TAMPI share: this process, and tasks of the runtime that they run on.
#pragma once

#include <gtest/gtest.h>
#include <mpi.h>

#include <atomic>
#include <functional>
#include <memory>
#include <thread>
#include <utility>

inline int rank = 0;
inline int size = 1;
inline int previous_rank = 0;
inline int next_rank = 0;
// After MPI_Init.
inline void find_ranks() {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    previous_rank = (rank + size - 1) % size;
    next_rank = (rank + 1) % size;
}
inline int (*spawn)(void (*body)(void *), void *argument, void (*completed)(void *), void *completed_argument,
                    const char *label, const void *attributes);
inline long (*blocked)(); // how many tasks are blocked, or how often one was
void find_runtime();      // sets both

inline constexpr int many = 20; // tasks, more than workers

// Tasks of one test. Its end waits until all are complete.
class tasks {
public:
    tasks() = default;
    ~tasks() { wait(); }
    tasks(const tasks &) = delete;
    tasks &operator=(const tasks &) = delete;

    // `completed` runs when the task is complete, as one that depends on it would.
    void start(
        std::function<void()> body, std::function<void()> completed = [] {}) {
        ++running_;
        auto *made = new task{std::move(body), std::move(completed), this};
        ASSERT_EQ(spawn([](void *t) { static_cast<task *>(t)->body(); }, made, &complete, made, "of a test", nullptr),
                  0);
    }
    void wait() {
        while (running_ != 0) {
            std::this_thread::yield();
        }
    }
    int running() const { return running_; }

private:
    struct task {
        std::function<void()> body;
        std::function<void()> completed;
        tasks *of;
    };
    static void complete(void *t) {
        const std::unique_ptr<task> ended(static_cast<task *>(t));
        ended->completed();
        --ended->of->running_;
    }
    std::atomic<int> running_{0};
};
