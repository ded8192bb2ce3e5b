// SPDX-License-Identifier: BSD-3-Clause
// What runs beside a measurement: nothing, or processes of the judge that compute without end, as on a machine that is
// shared.
#pragma once

#include "measure/session.hpp"

#include <sys/types.h>
#include <vector>

namespace measure {

// One for each processor that this process may use.
int processors();

// They run from construction to destruction. They end with this process, also if it is killed.
class busy_processes {
public:
    // Throws std::runtime_error if a process cannot be started.
    explicit busy_processes(int count);
    ~busy_processes();
    busy_processes(const busy_processes &) = delete;
    busy_processes &operator=(const busy_processes &) = delete;

    int count() const { return static_cast<int>(started_.size()); }

private:
    void end() noexcept;
    std::vector<pid_t> started_;
};

// Called by all ranks of the measured program: the share of a processor that this one gets while all of them spin, the
// result `free_processor`. If it is much less than 1, other processes use the processors, and latencies would be those
// of the scheduler.
double share_while_spinning();

// Each runs the work in `ranks` processes. Throws std::runtime_error if its result `free_processor` shows that other
// processes run, besides those that are meant to.
numbers with_free_processors(session &in, int ranks, const job &what);
// Beside one busy process per processor.
numbers beside_busy_processes(session &in, int ranks, const job &what);

} // namespace measure
