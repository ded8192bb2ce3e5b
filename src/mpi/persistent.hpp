// SPDX-License-Identifier: BSD-3-Clause
// Which requests are persistent, where MPI itself cannot say: a register that the interposed *_init calls fill.
//
// Invariant: a handle is in the register from its creation until the user frees it. MPI may recycle the handle value
// afterwards for a request of another kind, so interposed MPI_Request_free removes it first.
#pragma once

#include "base/visibility.hpp"

#include <mpi.h>

#include <atomic>

namespace thence::mpi {

extern THENCE_HIDDEN std::atomic<long> persistent_count;

// MPICH aborts when it is asked to cancel a persistent collective, so who may be asked is noted too.
enum class cancelling { possible, fatal };

void note_persistent(MPI_Request request, cancelling what);
void forget_persistent(MPI_Request request) noexcept;
bool lookup_persistent(MPI_Request request) noexcept;
// False also for one that was not noted.
bool noted_cancellable(MPI_Request request) noexcept;
// The request has another handle from now on.
void rename_persistent(MPI_Request before, MPI_Request after);

inline bool noted_persistent(MPI_Request request) noexcept {
    return persistent_count.load(std::memory_order_acquire) != 0 && lookup_persistent(request);
}

} // namespace thence::mpi
