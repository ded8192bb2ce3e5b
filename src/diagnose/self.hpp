// SPDX-License-Identifier: BSD-3-Clause
// Who speaks: this process among the ranks, and how it writes to standard error. Nothing here calls MPI after set-up,
// so any thread may use it at any time.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace thence::diagnose {

struct identity {
    int rank = -1; // in MPI_COMM_WORLD
    int pid = 0;
    std::string host;
};

// Asks MPI once.
void learn_identity();
const identity &self() noexcept;

// Writes text of one or more lines, each headed `thence[RANK]: `, in one write: the lines of a report stay together.
void say(std::string_view text) noexcept;

// Nanoseconds since boot.
std::uint64_t now_ns() noexcept;
std::uint64_t coarse_now_ns() noexcept; // costs a few loads, lags by some milliseconds

} // namespace thence::diagnose
