// SPDX-License-Identifier: BSD-3-Clause
// The table of thence/task_runtime.h: each part is a C name of thence/dataflow.h. Its struct needs no MPI.
#include <thence/dataflow.h>
#include <thence/task_table.h>

#include <thence/dataflow/detail/exports.hpp>

#include <exception>

namespace {

int waiting(void (*tell)(const thence_waiting_task *, void *), void *data, std::uint64_t *active) {
    struct visitor {
        void (*tell)(const thence_waiting_task *, void *);
        void *data;
    } visit{tell, data};
    try {
        *active = thence::libthence_tasks::report_waiting(
            [](const thence::detail::task_report &one, void *passed) {
                const auto &[tell_visitor, visitor_data] = *static_cast<const visitor *>(passed);
                const thence_waiting_task waits{one.label, one.submitted_at, one.state};
                tell_visitor(&waits, visitor_data);
            },
            &visit);
        return 0;
    } catch (const std::exception &) { // no memory
        *active = 1;
        return 1;
    }
}

constexpr thence_task_runtime table{sizeof(thence_task_runtime),
                                    "thence-tasks",
                                    &thence_flow_current,
                                    &thence_flow_block,
                                    &thence_flow_unblock,
                                    &thence_flow_raise,
                                    &thence_flow_lower_error,
                                    &thence_flow_spawn,
                                    &thence_flow_sleep_for,
                                    &thence_flow_workers,
                                    &waiting,
                                    &thence_flow_on_idle,
                                    &thence_flow_between_tasks};

} // namespace

const thence_task_runtime *thence_flow_task_runtime(void) {
    return &table;
}
