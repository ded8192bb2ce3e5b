// SPDX-License-Identifier: BSD-3-Clause
#include "core/diagnose/waiting_tasks.hpp"

#include "core/base/clock.hpp"
#include "core/diagnose/symbolize.hpp"
#include "core/diagnose/tasks.hpp"

#include <algorithm>
#include <cstdio>

namespace thence::diagnose {

const task_functions *tasks = nullptr;

namespace {

constexpr std::size_t most_shown = 20;

// Calls from one line of the program, by tasks of one runtime.
struct call_site {
    const char *name;
    const void *where;
    const char *runtime;
    std::uint32_t oldest; // how long the first has waited, in milliseconds
    long calls = 0;
};

std::vector<call_site> find_call_sites() {
    std::vector<call_site> sites;
    tasks->for_each_polling_call(
        [](const polling_call &call, void *data) {
            auto &all = *static_cast<std::vector<call_site> *>(data);
            auto found = std::find_if(all.begin(), all.end(), [&](const call_site &each) {
                return each.where == call.where && each.runtime == call.runtime;
            });
            if (found == all.end()) {
                found =
                    all.insert(found, {call.name, call.where, call.runtime, base::coarse_milliseconds() - call.since});
            }
            ++found->calls;
        },
        &sites);
    return sites;
}

std::string describe(const call_site &site) {
    char time[32];
    std::snprintf(time, sizeof time, "%.1f s", site.oldest * 1e-3);
    return "  " + std::to_string(site.calls) + (site.calls == 1 ? " task of " : " tasks of ") + site.runtime + " in " +
           (site.name != nullptr ? site.name : "a call that waits for a request") + " for " + time + ", called at " +
           location_of_call(site.where) + "\n";
}

struct visit {
    waiting_tasks *found;
    const char *runtime;
};

void add_task(const thence_waiting_task *task, void *data) {
    const visit &visited = *static_cast<visit *>(data);
    std::string text = "task ";
    if (task->label != nullptr) {
        text.append("\"").append(task->label).append("\" ");
    }
    text.append("of ").append(visited.runtime).append(" ").append(task->state != nullptr ? task->state : "waits");
    visited.found->lines.push_back({text, task->submitted_at});
}

void add_runtime(const thence_task_runtime &runtime, void *data) {
    visit visited{static_cast<waiting_tasks *>(data), runtime.name};
    if (runtime.waiting == nullptr) {
        return;
    }
    std::uint64_t active = 0;
    if (runtime.waiting(&add_task, &visited, &active) != 0) {
        active = std::max<std::uint64_t>(active, 1); // it cannot say, so it may run
    }
    visited.found->active += active;
}

} // namespace

waiting_tasks find_waiting_tasks() {
    waiting_tasks found;
    tasks->for_each_runtime(&add_runtime, &found);
    return found;
}

polling_tasks count_polling_tasks() noexcept {
    const polling_counts counts = tasks->count_polling_calls();
    return {counts.ended, counts.listed, {}};
}

polling_tasks describe_polling_tasks() {
    polling_tasks all = count_polling_tasks();
    if (all.calls == 0) {
        return all;
    }
    std::vector<call_site> sites = find_call_sites();
    long left_out = 0;
    for (std::size_t i = most_shown; i < sites.size(); ++i) {
        left_out += sites[i].calls;
    }
    sites.resize(std::min(sites.size(), most_shown));
    for (const call_site &each : sites) {
        all.text += describe(each);
    }
    if (left_out != 0) {
        all.text += "  and " + std::to_string(left_out) + " other tasks in MPI calls\n";
    }
    return all;
}

std::string describe(const waiting_tasks &waiting) {
    const std::size_t shown = std::min(waiting.lines.size(), most_shown);
    std::string text;
    for (std::size_t i = 0; i < shown; ++i) {
        text += "  " + waiting.lines[i].text;
        if (waiting.lines[i].submitted_at != nullptr) {
            text += ", submitted at " + location_of_call(waiting.lines[i].submitted_at);
        }
        text += "\n";
    }
    if (shown < waiting.lines.size()) {
        text += "  and " + std::to_string(waiting.lines.size() - shown) + " other tasks that wait\n";
    }
    return text;
}

} // namespace thence::diagnose
