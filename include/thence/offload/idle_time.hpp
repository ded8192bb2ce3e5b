// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/** @file idle_time.hpp
 *  @brief For how long a rank has had nothing to do but to wait for results: thence/offload.hpp calls results late, or
 *         lost, by it. A rank with several workers is idle while none of them runs a task. It knows no task. */

#include <thence/detail/cxx20.hpp>

#include <algorithm>

namespace thence::detail {

// Times are in seconds, of one clock. Threads: one at a time.
class offload_idle_time {
public:
    void task_begins() { running_++; }
    void task_ends(double now) { running_--, ended_ = now; }
    void result_came(double now) { came_ = now; }

    // A worker has found no task since `since`. 0: another one runs a task.
    double idle(double since, double now) const {
        return running_ > 0 ? 0 : std::max(0.0, now - std::max(since, ended_));
    }
    // The same, and no result has come.
    double without_result(double since, double now) const { return idle(std::max(since, came_), now); }

private:
    int running_ = 0; // tasks that workers of this rank run
    double ended_ = 0, came_ = 0;
};

} // namespace thence::detail
