// SPDX-License-Identifier: BSD-3-Clause
// Says whether a request of MPI's own is complete. Where the request itself can be read (Open MPI, after an engine has
// proved its layout), that is two loads; on MPICH 4.3 and later it is a call that makes no progress. Elsewhere MPI has
// only MPI_Request_get_status, which makes progress.
#pragma once

#include "core/engine/persistent_requests.hpp"
#include "core/mpi/calls.hpp"
#include "core/mpi/extension.hpp"

#if defined(OPEN_MPI)
#include "core/engine/openmpi_layout.hpp"
#endif

namespace thence::engine {

#if defined(OPEN_MPI)
// Call it only if can_read_requests. True for a null and for an inactive request, too: a null request has the fields of
// a complete one.
inline bool read_complete(MPI_Request request) noexcept {
    const openmpi::request_view view(request);
    return view.complete().load(std::memory_order_acquire) == openmpi::completed ||
           view.state() != openmpi::state_active;
}
#else
constexpr bool read_complete(MPI_Request) noexcept {
    return false;
}
#endif

// The same by the best way that there is. Makes progress if it calls MPI_Request_get_status.
inline bool is_complete_now(MPI_Request request) noexcept {
    if (can_read_requests) [[likely]] {
        return read_complete(request);
    }
    if (request == MPI_REQUEST_NULL) {
        return true;
    }
    if (mpi::table.request_is_complete != nullptr) {
        return mpi::table.request_is_complete(request) != 0;
    }
    int flag = 0;
    return mpi::table.Request_get_status(request, &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS && flag != 0;
}

// Whether is_complete_now() makes no progress.
inline bool can_look_without_progress() noexcept {
    return can_read_requests || mpi::table.request_is_complete != nullptr;
}

inline mpi::extension_facts is_complete_facts() noexcept {
    if (can_read_requests) {
        return {mpi::extension_state::ours, "it reads the request, and makes no progress"};
    }
    if (mpi::table.request_is_complete != nullptr) {
        return {mpi::extension_state::native, "this MPI has it; it makes no progress"};
    }
    return {mpi::extension_state::ours, "it calls MPI_Request_get_status, which makes progress"};
}

} // namespace thence::engine
