// SPDX-License-Identifier: BSD-3-Clause
// One-sided communication of the program, for the helper thread (core/progress/plain_operations.hpp).
//
// An operation without a request that writes only (MPI_Put) is outstanding until a call that completes it at its
// target, such as MPI_Win_flush, returns. One that reads (MPI_Get, MPI_Fetch_and_op) has ended when the origin has its
// result, which MPI_Win_flush_local says, too. All of one kind and window to one target count as one. An exposure epoch
// is outstanding from MPI_Win_post to MPI_Win_wait. Any rank may access a window at any time, unless its info says
// no_locks; then it may between two calls of MPI_Win_fence. While there is such a window, the helper looks from time to
// time.
//
// Each function is called only while calls are observed, after MPI has returned successfully. What is known of a window
// is taken before MPI frees it, since MPI may then give its handle to another thread's window.
#pragma once

#include "core/base/visibility.hpp"
#include "core/progress/plain_operations.hpp"

#include <mpi.h>

namespace thence::interpose {

struct counted_window;

THENCE_INTERNAL void count_window(MPI_Win created, MPI_Info info) noexcept;

// A call that frees a window lasts. If nothing is counted, it does nothing.
class counted_window_free {
public:
    explicit counted_window_free(const MPI_Win *window) noexcept {
        if (progress::observes_calls() && window != nullptr) [[unlikely]] {
            begin(window);
        }
    }
    ~counted_window_free() {
        if (window_ != nullptr) {
            end();
        }
    }
    counted_window_free(const counted_window_free &) = delete;
    counted_window_free &operator=(const counted_window_free &) = delete;

private:
    THENCE_INTERNAL void begin(const MPI_Win *window) noexcept;
    THENCE_INTERNAL void end() noexcept;

    const MPI_Win *window_ = nullptr;
    MPI_Win before_ = MPI_WIN_NULL;
    counted_window *taken_ = nullptr;
};

enum class access { writes, reads };
THENCE_INTERNAL void count_access(MPI_Win window, int target, access kind) noexcept;
THENCE_INTERNAL void end_reads(MPI_Win window, int target) noexcept;
THENCE_INTERNAL void end_reads(MPI_Win window) noexcept; // to all targets
THENCE_INTERNAL void end_accesses(MPI_Win window, int target) noexcept;
THENCE_INTERNAL void end_accesses(MPI_Win window) noexcept; // to all targets

// MPI_Win_fence was called with these assertions. Its epoch ends with the next one, or where another kind begins.
THENCE_INTERNAL void count_fence(MPI_Win window, int assertions) noexcept;
THENCE_INTERNAL void end_fence(MPI_Win window) noexcept;

THENCE_INTERNAL void count_exposure(MPI_Win window) noexcept;
THENCE_INTERNAL void end_exposure(MPI_Win window) noexcept;

} // namespace thence::interpose
