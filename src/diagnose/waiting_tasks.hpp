// SPDX-License-Identifier: BSD-3-Clause
// The tasks that wait, of all task runtimes that tell (`waiting` of thence/task_runtime.h).
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

waiting_tasks find_waiting_tasks();
// A line of the report for each, the first ones if there are many.
std::string describe(const waiting_tasks &tasks);

} // namespace thence::diagnose
