// SPDX-License-Identifier: BSD-3-Clause
// A task runtime for rule tests: its tasks are what the test says, and it writes down what it is asked to do.
#pragma once

#include "library.hpp"

#include <thence/task_runtime.h>

#include <semaphore>

namespace thence::fake {

struct scripted_task {
    std::atomic<long> events{1}; // that of the body
    std::atomic<int> error{MPI_SUCCESS};
    std::counting_semaphore<> unblocked{0};
    std::atomic<int> blocks{0};
    std::atomic<int> sleeps{0};
};
inline thread_local scripted_task *running = nullptr;
inline bool refuses_to_raise = false;
inline std::atomic<int> refuses_to_block{0}; // so many times

inline void *running_task() {
    return running;
}
inline int block(void *task) {
    auto *self = static_cast<scripted_task *>(task);
    if (refuses_to_block > 0) {
        --refuses_to_block;
        return 1;
    }
    ++self->blocks;
    self->unblocked.acquire();
    return 0;
}
inline int unblock(void *task) {
    static_cast<scripted_task *>(task)->unblocked.release();
    return 0;
}
inline int raise_events(void *task, uint64_t n) {
    if (refuses_to_raise) {
        return 1;
    }
    static_cast<scripted_task *>(task)->events += static_cast<long>(n);
    return 0;
}
inline int lower_events(void *task, uint64_t n, int error) {
    auto *self = static_cast<scripted_task *>(task);
    if (error != MPI_SUCCESS) {
        self->error = error;
    }
    self->events -= static_cast<long>(n);
    return 0;
}
inline int sleep_for(uint64_t, uint64_t *) {
    ++running->sleeps;
    return 0;
}
inline const thence_task_runtime scripted{sizeof scripted, "a test's",    &running_task, &block,     &unblock,
                                          &raise_events,   &lower_events, nullptr,       &sleep_for, nullptr,
                                          nullptr,         nullptr,       nullptr};
inline const thence_task_runtime only_current{sizeof only_current,
                                              "poor",
                                              &running_task,
                                              nullptr,
                                              nullptr,
                                              nullptr,
                                              nullptr,
                                              nullptr,
                                              nullptr,
                                              nullptr,
                                              nullptr,
                                              nullptr,
                                              nullptr};

inline int class_of(int code) {
    int result = code;
    thence::mpi::table.Error_class(code, &result);
    return result;
}

// The task that this thread runs for a scope.
class in_task {
public:
    explicit in_task(scripted_task &task) { running = &task; }
    ~in_task() { running = nullptr; }
    in_task(const in_task &) = delete;
    in_task &operator=(const in_task &) = delete;
};

class tasks : public on_fake {
protected:
    tasks() {
        refuses_to_raise = false;
        refuses_to_block = 0;
        EXPECT_EQ(thence_task_runtime_add(&scripted), MPI_SUCCESS);
    }
    ~tasks() override {
        EXPECT_EQ(thence_task_runtime_remove(&scripted), MPI_SUCCESS);
        reported();
    }
    static thence_task current() {
        thence_task task{};
        EXPECT_EQ(thence_task_current(&task), MPI_SUCCESS);
        return task;
    }
};

} // namespace thence::fake
