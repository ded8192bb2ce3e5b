// SPDX-License-Identifier: BSD-3-Clause
// How a blocking call waits. By default it blocks inside MPI. Where it must not, a strategy takes over.
#pragma once

#include "base/visibility.hpp"
#include "progress/interposed.hpp"

#include <mpi.h>

namespace thence::interpose {

// A way to wait other than blocking inside MPI. The call has become its nonblocking form, or a loop of looks.
struct wait_strategy {
    const char *name;
    // Whether a blocking call on this thread has to wait in this way now.
    bool (*applies)() noexcept;
    // Blocks until `request`, which is MPI's own and not persistent, is complete. As MPI_Wait.
    int (*complete)(MPI_Request *request, MPI_Status *status) noexcept;
    // Between two looks of a call that has no single request to wait for. `turns`: how many looks there were.
    void (*pause)(unsigned turns) noexcept;
};

inline constexpr int most_strategies = 4;
// Adds a strategy, which is asked before all others. Not while another thread is in a blocking call. Returns false if
// there are `most_strategies`.
bool add_strategy(const wait_strategy &added) noexcept;
// Removes one that was added.
void remove_strategy(const wait_strategy &removed) noexcept;

// The first strategy that applies to a blocking call on this thread now; null: the call blocks inside MPI.
THENCE_INTERNAL const wait_strategy *find_strategy() noexcept;
inline const wait_strategy *strategy() noexcept {
    return progress::slow_path_reasons.load(std::memory_order_relaxed) == 0 ? nullptr : find_strategy();
}

// Waiting by testing in a loop, in which MPI makes progress and callbacks run. Always there, as the last.
extern THENCE_INTERNAL const wait_strategy testing;

// After a call that did not block, or that blocked inside MPI: where no hook runs callbacks, runs what came up. A
// program whose calls never block would run nothing else there.
THENCE_INTERNAL void catch_up() noexcept;

// By every blocking call that is not passed on to MPI: reports one from inside MPI's completion path, where callbacks
// have promised to make none (THENCE_CR_IN_COMPLETION).
THENCE_INTERNAL void report_if_in_completion() noexcept;

// For calls that only MPI itself can do. While it lives, another thread makes progress, if this thread is in a callback
// on an MPI whose waiting threads rely on each other. Does nothing elsewhere.
class THENCE_INTERNAL progress_beside {
public:
    progress_beside() noexcept;
    ~progress_beside();
    progress_beside(const progress_beside &) = delete;
    progress_beside &operator=(const progress_beside &) = delete;

private:
    struct helper;
    helper *helper_ = nullptr;
};

} // namespace thence::interpose
