// SPDX-License-Identifier: BSD-3-Clause
// A register of persistent requests, for MPIs that cannot tell them from others. The interposed *_init calls fill it.
//
// Invariant: a handle is in the register from its creation until the user frees it. MPI may recycle the handle value
// afterwards for a request of another kind, so interposed MPI_Request_free removes it first.
#pragma once

#include "core/base/visibility.hpp"

#include <mpi.h>

#include <atomic>

namespace thence::mpi {

extern THENCE_HIDDEN std::atomic<long> persistent_count;

// MPI_Cancel of a persistent collective aborts on MPICH. So the register also says which requests may be cancelled.
enum class cancelling { possible, fatal };

void note_persistent(MPI_Request request, cancelling what);
void forget_persistent(MPI_Request request) noexcept;
bool lookup_persistent(MPI_Request request) noexcept;
// Also false for a request that was not noted.
bool noted_cancellable(MPI_Request request) noexcept;
// Replaces the handle of a noted request.
void rename_persistent(MPI_Request before, MPI_Request after);

inline bool noted_persistent(MPI_Request request) noexcept {
    return persistent_count.load(std::memory_order_acquire) != 0 && lookup_persistent(request);
}

} // namespace thence::mpi
