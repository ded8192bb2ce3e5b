// SPDX-License-Identifier: BSD-3-Clause
#include "task_runtimes.hpp"

#include <thence/task_runtime.h>

namespace command {

namespace {

std::string parts_of(const thence_task_runtime &table) {
    const struct {
        bool there;
        const char *part;
    } parts[] = {{table.raise_events != nullptr, "delays the end of tasks"},
                 {table.block != nullptr, "blocks tasks"},
                 {table.spawn != nullptr, "starts tasks"},
                 {table.sleep_for != nullptr, "lets tasks sleep"},
                 {table.workers != nullptr, "tells its workers"},
                 {table.waiting != nullptr, "tells which tasks wait"}};
    std::string can;
    std::string cannot;
    for (const auto &[there, part] : parts) {
        std::string &list = there ? can : cannot;
        list.append(list.empty() ? "" : ", ").append(part);
    }
    return cannot.empty() ? can : can + "; not: " + cannot;
}

} // namespace

std::vector<task_runtime_facts> known_task_runtimes() {
    const thence_task_runtime *alpi = nullptr;
    const char *why = "";
    thence_task_runtime_alpi(&alpi, &why);
    return {{"ALPI", alpi != nullptr ? std::string(why) + ": " + parts_of(*alpi) : std::string(why)},
            {"OpenMP, detached tasks", parts_of(*thence_task_runtime_detached())},
            {"plain threads", parts_of(*thence_task_runtime_threads())}};
}

} // namespace command
