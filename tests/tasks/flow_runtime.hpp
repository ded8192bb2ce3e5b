// SPDX-License-Identifier: BSD-3-Clause
// The tests of TAMPI and TAGASPI on the data-flow layer: its table is added, and its tasks are spawned.
#pragma once

#include "flow_blocked.hpp"
#include "tampi_tasks.hpp"

#include <thence/dataflow.h>
#include <thence/task_runtime.h>

inline void use_flow() {
    thence_task_runtime_add(thence_flow_task_runtime());
    spawn = [](void (*body)(void *), void *argument, void (*completed)(void *), void *completed_argument,
               const char *label,
               const void *) { return thence_flow_spawn(body, argument, completed, completed_argument, label); };
    blocked = &blocked_tasks;
}
