// SPDX-License-Identifier: BSD-3-Clause
// How many tasks of the data-flow layer are blocked now.
#pragma once

#include <thence/dataflow.h>

#include <cstring>

inline long blocked_tasks() {
    long n = 0;
    thence_flow_report(
        [](const thence_flow_waiting *one, void *count) {
            *static_cast<long *>(count) += std::strcmp(one->state, "is blocked") == 0 ? 1 : 0;
        },
        &n);
    return n;
}
