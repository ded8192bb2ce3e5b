// SPDX-License-Identifier: BSD-3-Clause
// For `thence info`: the task runtimes whose tables the library itself has, and what each can do here. A program adds
// the tables of others, such as fibers and thence-tasks.
#pragma once

#include <string>
#include <vector>

namespace command {

struct task_runtime_facts {
    std::string name;
    std::string can; // "delay the end of tasks, block them, ..."; or why there is none
};
std::vector<task_runtime_facts> known_task_runtimes();

} // namespace command
