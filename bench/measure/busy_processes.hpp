// SPDX-License-Identifier: BSD-3-Clause
// Used by the judge: processes that compute without end beside what is measured, as on a machine that is shared.
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

// Runs the work in `ranks` processes beside one busy process per processor. Throws std::runtime_error if its result
// `free_processor`, the share of a processor that a thread that spins has got, shows that other processes run, too.
numbers beside_busy_processes(session &in, int ranks, const job &what);

} // namespace measure
