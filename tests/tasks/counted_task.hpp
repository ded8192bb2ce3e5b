// SPDX-License-Identifier: BSD-3-Clause
// A task runtime that counts what is bound to its tasks.
#pragma once

#include <TAGASPI.h>
#include <thence/task_runtime.h>
#include <thence/thence.h>

#include <mpi.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <thread>

// A task is this object while `body` runs in it. Other threads lower its events.
struct counted_task {
    std::atomic<std::uint64_t> raised{0};
    std::atomic<std::uint64_t> lowered{0};
    std::atomic<int> error{MPI_SUCCESS};
    bool refuses = false;
};
inline thread_local counted_task *current = nullptr;

inline const thence_task_runtime counting{sizeof(thence_task_runtime),
                                          "counting",
                                          []() -> void * { return current; },
                                          nullptr,
                                          nullptr,
                                          [](void *task, std::uint64_t n) {
                                              static_cast<counted_task *>(task)->raised += n;
                                              return static_cast<counted_task *>(task)->refuses ? 1 : 0;
                                          },
                                          [](void *task, std::uint64_t n, int error) {
                                              int none = MPI_SUCCESS;
                                              static_cast<counted_task *>(task)->error.compare_exchange_strong(none,
                                                                                                               error);
                                              static_cast<counted_task *>(task)->lowered += n;
                                              return 0;
                                          },
                                          nullptr,
                                          nullptr,
                                          nullptr,
                                          nullptr,
                                          nullptr};

inline gaspi_return_t in(counted_task &task, const std::function<gaspi_return_t()> &body) {
    current = &task;
    const gaspi_return_t code = body();
    current = nullptr;
    return code;
}

inline void wait_until(const std::function<bool()> &done) {
    while (!done()) {
        thence_progress();
        std::this_thread::yield();
    }
}
