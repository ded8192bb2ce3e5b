// SPDX-License-Identifier: BSD-3-Clause
// How a blocking call waits. By default it blocks inside MPI. If it must not, a strategy waits in its place.
#pragma once

#include "core/base/visibility.hpp"
#include "core/progress/interposed.hpp"
#include "tasks/polling_call.hpp"

#include <mpi.h>

namespace thence::interpose {

using task::polling_call;

// A way to wait other than blocking inside MPI. The call is replaced by its nonblocking form, or by a loop of tests.
struct wait_strategy {
    const char *name;
    // True if a blocking call on this thread must wait in this way now.
    bool (*applies)() noexcept;
    // Blocks until `request`, which is MPI's own and has no continuations, is complete. As MPI_Wait. `where`: the code
    // address of the user's call, for reports.
    int (*complete)(MPI_Request *request, MPI_Status *status, const void *where) noexcept;
    // Called between two tests of a call that waits for several requests, for a continuation request, for a persistent
    // request that has continuations, or for a message (a probe). Counts the turn of the call.
    void (*pause)(polling_call &call) noexcept;
    // Blocks until all of these requests, of any kind, are complete. As MPI_Waitall, with the result in `code`. Returns
    // false, and has changed nothing, if it cannot; null: it never can. The call then tests and pauses.
    bool (*complete_all)(int count, MPI_Request requests[], MPI_Status statuses[], const void *where,
                         int &code) noexcept = nullptr;
    // True if thence_wait() waits in this way by itself, with fewer calls.
    bool thence_wait_does = false;
};

inline constexpr int most_strategies = 5;
// Adds a strategy, which is tried before all others. No other thread may be in a blocking call meanwhile. Returns false
// if there are `most_strategies` already.
bool add_strategy(const wait_strategy &added) noexcept;
// Removes a strategy that is added.
void remove_strategy(const wait_strategy &removed) noexcept;

// True if a strategy other than `testing` may apply.
inline bool any_strategy_added() noexcept {
    return (progress::slow_path_reasons.load(std::memory_order_relaxed) & progress::way_to_wait_added) != 0;
}

// The first strategy that applies to a blocking call on this thread now; null: the call blocks inside MPI. `call`: its
// name, for errors.
THENCE_INTERNAL const wait_strategy *find_strategy(const char *call) noexcept;
inline const wait_strategy *strategy(const char *call) noexcept {
    return progress::slow_path_reasons.load(std::memory_order_relaxed) == 0 ? nullptr : find_strategy(call);
}

// The loop of a strategy that tests: for wait_strategy::complete.
int complete_by_tests(MPI_Request *request, MPI_Status *status, void (*pause)(polling_call &call)) noexcept;

// Tests in a loop, in which MPI makes progress and callbacks run. It is always registered, as the last strategy.
extern THENCE_INTERNAL const wait_strategy testing;

// Called after a call that did not block, or that blocked inside MPI. If no hook runs callbacks, it runs what is ready.
// Otherwise a program whose calls never block would never run callbacks on such an MPI.
THENCE_INTERNAL void catch_up() noexcept;

// Called by every blocking call that is not forwarded to MPI. Reports an error if it is inside MPI's completion path,
// where callbacks must not make blocking calls (THENCE_CR_IN_COMPLETION).
THENCE_INTERNAL void report_if_in_completion(const char *call) noexcept;

// For blocking calls that only MPI itself can do. If this thread is in a callback, and waiting threads of this MPI rely
// on each other, then another thread makes progress during the lifetime of this object. Else it does nothing.
class THENCE_INTERNAL progress_beside {
public:
    explicit progress_beside(const char *call) noexcept;
    ~progress_beside();
    progress_beside &operator=(progress_beside &&) = delete;

private:
    struct helper;
    helper *helper_ = nullptr;
};

} // namespace thence::interpose
