// SPDX-License-Identifier: BSD-3-Clause
// What identifies this process in a report (rank, pid, host), and in the names of its files, the output function that
// prefixes each line with the rank, and the clocks and times of the reports. Only read_process_identity() calls MPI, so
// any thread may use the rest at any time.
#pragma once

#include "core/base/clock.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace thence::diagnose {

struct identity {
    int rank = -1; // in MPI_COMM_WORLD
    int pid = 0;
    bool spawned = false; // by MPI_Comm_spawn: MPI_COMM_WORLD is not that of the program that was started first
    std::string host;
};

// Asks MPI for the rank. Called once, before the other functions.
void read_process_identity();
const identity &process_identity() noexcept;

// Spawned processes have the settings, and ranks, that those have who spawned them. So that neither overwrite the files
// of the others, `.spawned-PID` stands before the extension of each name, or at its end if it has none. What exists,
// and is no regular file, such as a terminal, keeps its name.
std::string spawned_file_name(const std::string &name, int pid);
// The same for the names of a process that was spawned. Others keep theirs.
std::string own_file_name(const std::string &name);

// Writes text of one or more lines to standard error, each line with the prefix `thence[RANK]: `. All lines go out in
// one write(), so that reports of several threads or ranks do not mix.
void print_to_stderr(std::string_view text) noexcept;

// A time in a report: `1.5 s`.
std::string seconds(std::uint64_t ns);

// Nanoseconds since boot (CLOCK_MONOTONIC).
inline std::uint64_t now_ns() noexcept {
    return static_cast<std::uint64_t>(base::read_clock());
}
// The same clock as of the last tick of the kernel: costs a few loads, lags by a few milliseconds.
inline std::uint64_t coarse_now_ns() noexcept {
    return static_cast<std::uint64_t>(base::read_clock(CLOCK_MONOTONIC_COARSE));
}

} // namespace thence::diagnose
