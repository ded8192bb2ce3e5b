// SPDX-License-Identifier: BSD-3-Clause
// The stall detector of THENCE_STALL: a thread that reports when operations are outstanding but none has completed for
// the time limit, and when all tasks of the task runtimes wait though no operation is outstanding. An operation is a
// continuation, or an MPI call of a task that polls. It reports again after two, four, eight ... times the limit, and
// once when completions resume. The thread makes no MPI call. It exists only while the setting is on.
#pragma once

#include <chrono>

namespace thence::diagnose {

void start_stall_detector(std::chrono::milliseconds limit);
void stop_stall_detector() noexcept; // waits for a report that is being written

} // namespace thence::diagnose
