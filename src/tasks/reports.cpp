// SPDX-License-Identifier: BSD-3-Clause
// What reports ask about tasks.
#include "core/diagnose/tasks.hpp"
#include "tasks/blocked_task.hpp"
#include "tasks/polling_call.hpp"
#include "tasks/runtime.hpp"

namespace thence::task {

namespace {

struct report_visit {
    void (*visit)(const diagnose::polling_call &call, void *data);
    void *data;
};

void for_each_call(void (*visit)(const diagnose::polling_call &call, void *data), void *data) {
    report_visit all{visit, data};
    for_each_polling_call(
        [](const polling_call &call, void *to) {
            const auto &reports = *static_cast<report_visit *>(to);
            reports.visit({call.name, call.where, call.task.runtime->name, call.since}, reports.data);
        },
        &all);
}

diagnose::polling_counts count_calls() noexcept {
    const polling_counts counts = count_polling_calls();
    return {counts.listed, counts.ended};
}

constexpr diagnose::task_functions functions{&blocked_task::runtime_of, &for_each, &for_each_call, &count_calls};

[[maybe_unused]] const bool registered = [] {
    diagnose::tasks = &functions;
    return true;
}();

} // namespace

} // namespace thence::task
