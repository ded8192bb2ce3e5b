// SPDX-License-Identifier: BSD-3-Clause
// The tasks that wait: of all task runtimes that tell (`waiting` of thence/task_runtime.h), and those in MPI calls that
// wait by tests. A task that waits for a continuation is in the report of those.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace thence::diagnose {

struct waiting_tasks {
    struct line {
        std::string text; // `task "name" of RUNTIME`, and what it waits for
        const void *submitted_at;
        bool operator==(const line &) const = default;
    };
    std::vector<line> lines;
    std::uint64_t active = 0; // tasks that run, are ready, or sleep

    // True if no task can run before something outside of the tasks has happened.
    bool all_wait() const noexcept { return !lines.empty() && active == 0; }
    bool operator==(const waiting_tasks &) const = default;
};

// The MPI calls of tasks that wait by tests.
struct polling_tasks {
    std::uint64_t ended = 0; // calls of before
    long calls = 0;
    std::string text; // a line for each line of the program that calls, the longest wait first
};
polling_tasks count_polling_tasks() noexcept; // without the text
polling_tasks describe_polling_tasks();

waiting_tasks find_waiting_tasks();
// A line of the report for each, the first ones if there are many.
std::string describe(const waiting_tasks &tasks);

} // namespace thence::diagnose
