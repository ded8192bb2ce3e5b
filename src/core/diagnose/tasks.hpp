// SPDX-License-Identifier: BSD-3-Clause
// What reports ask about tasks. Tasks lie above this room, so src/tasks/reports.cpp registers the functions before
// main().
#pragma once

#include "core/continuation/continuation.hpp"

#include <thence/task_runtime.h>

#include <cstdint>

namespace thence::diagnose {

// An MPI call of a task that waits by tests.
struct polling_call {
    const char *name;  // the function, or null
    const void *where; // the return address in the code of the user
    const char *runtime;
    std::uint32_t since; // coarse milliseconds
};

struct polling_counts {
    long listed;
    std::uint64_t ended;
};

struct task_functions {
    // The runtime of the task that an attached continuation lets go on, while that is visited; null: of no task.
    const char *(*runtime_of)(const continuation::continuation &c, continuation::control_word kind) noexcept;
    // Calls `visit` for each runtime that is added.
    void (*for_each_runtime)(void (*visit)(const thence_task_runtime &runtime, void *data), void *data);
    // Calls `visit` for each call that is listed, the oldest first. `visit` must not wait for a task.
    void (*for_each_polling_call)(void (*visit)(const polling_call &call, void *data), void *data);
    polling_counts (*count_polling_calls)() noexcept;
};

// Set before main().
extern const task_functions *tasks;

} // namespace thence::diagnose
