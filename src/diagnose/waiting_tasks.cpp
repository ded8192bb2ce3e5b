// SPDX-License-Identifier: BSD-3-Clause
#include "diagnose/waiting_tasks.hpp"

#include "diagnose/symbolize.hpp"
#include "task/runtime.hpp"

#include <algorithm>

namespace thence::diagnose {

namespace {

struct visit {
    waiting_tasks *found;
    const char *runtime;
};

void add_task(const thence_waiting_task *task, void *data) {
    const visit &of = *static_cast<visit *>(data);
    std::string text = "task ";
    if (task->label != nullptr) {
        text.append("\"").append(task->label).append("\" ");
    }
    text.append("of ").append(of.runtime).append(" ").append(task->state != nullptr ? task->state : "waits");
    of.found->lines.push_back({text, task->submitted_at});
}

void add_runtime(const thence_task_runtime &runtime, void *data) {
    visit of{static_cast<waiting_tasks *>(data), runtime.name};
    if (runtime.waiting == nullptr) {
        return;
    }
    std::uint64_t active = 0;
    if (runtime.waiting(&add_task, &of, &active) != 0) {
        active = std::max<std::uint64_t>(active, 1); // it cannot say, so it may run
    }
    of.found->active += active;
}

} // namespace

waiting_tasks find_waiting_tasks() {
    waiting_tasks found;
    task::for_each(&add_runtime, &found);
    return found;
}

std::string describe(const waiting_tasks &tasks) {
    constexpr std::size_t most_shown = 20;
    const std::size_t shown = std::min(tasks.lines.size(), most_shown);
    std::vector<code_address> addresses;
    for (std::size_t i = 0; i < shown; ++i) {
        addresses.push_back({tasks.lines[i].submitted_at, true});
    }
    const std::vector<code_location> locations = symbolize(addresses);
    std::string text;
    for (std::size_t i = 0; i < shown; ++i) {
        text += "  " + tasks.lines[i].text;
        if (tasks.lines[i].submitted_at != nullptr) {
            text += ", submitted at " + locations[i].text();
        }
        text += "\n";
    }
    if (shown < tasks.lines.size()) {
        text += "  and " + std::to_string(tasks.lines.size() - shown) + " other tasks that wait\n";
    }
    return text;
}

} // namespace thence::diagnose
