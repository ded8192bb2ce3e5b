// SPDX-License-Identifier: BSD-3-Clause
// The table of thence/task_runtime.h: each part is a C name of thence/dataflow.h. Its struct needs no MPI.
#include <thence/dataflow.h>
#include <thence/task_table.h>

namespace {

constexpr thence_task_runtime table{sizeof(thence_task_runtime), "thence-tasks",       &thence_flow_current,
                                    &thence_flow_block,          &thence_flow_unblock, &thence_flow_raise,
                                    &thence_flow_lower_error,    &thence_flow_spawn,   &thence_flow_sleep_for,
                                    &thence_flow_workers};

} // namespace

const thence_task_runtime *thence_flow_task_runtime(void) {
    return &table;
}
