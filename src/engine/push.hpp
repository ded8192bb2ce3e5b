// SPDX-License-Identifier: BSD-3-Clause
// The push path of the native Open MPI engine, inline: it is what attaching and running a continuation mostly consist
// of. The protocol and its invariant are told in openmpi.cpp. Where the MPI has no such path, everything here is
// constant.
#pragma once

#include "engine/operation.hpp"
#include "mpi/calls.hpp"

#if defined(OPEN_MPI)
#include "engine/openmpi_layout.hpp"
#endif

namespace thence::engine {

enum class pushing { accepted, refused };

#if defined(OPEN_MPI)

struct push_state {
    bool enabled = false; // the native engine is in use
    void *callback = nullptr;
    openmpi::wait_sync *lost = nullptr;
};
extern push_state push;

// Lets MPI push the completion of `op` to the sink. `refused`: nothing changed; the request needs another way, or is
// complete.
inline pushing try_push(operation &op) noexcept {
    using namespace openmpi;
    const request_view request(op.request);
    if (!push.enabled || request.complete().load(std::memory_order_acquire) != pending || request.persistent() ||
        request.callback().load(std::memory_order_relaxed) != nullptr) [[unlikely]] {
        return pushing::refused;
    }
    op.how = tending::pushed;
    request.callback_data().store(&op, std::memory_order_relaxed);
    request.callback().store(push.callback, std::memory_order_release);
    void *expected = pending;
    if (!request.complete().compare_exchange_strong(expected, push.lost, std::memory_order_seq_cst) &&
        request.callback().load(std::memory_order_relaxed) == push.callback) [[unlikely]] {
        request.callback().store(nullptr, std::memory_order_relaxed); // complete, and nobody was called for it
        return pushing::refused;
    }
    return pushing::accepted;
}

// True if the results of a pushed operation were taken: a point-to-point operation without error needs nothing of MPI
// but its status and its release. Others go through engine::finish().
inline bool try_finish(operation &op) noexcept {
    using namespace openmpi;
    const request_view request(op.request);
    const MPI_Status &status = request.status();
    if (op.how != tending::pushed || request.type() != type_point_to_point || status.MPI_ERROR != MPI_SUCCESS)
        [[unlikely]] {
        return false;
    }
    if (op.status != nullptr) {
        *op.status = status;
    }
    op.how = tending::done;
    request.free();
    return true;
}

#else

inline pushing try_push(operation &) noexcept {
    return pushing::refused;
}
inline bool try_finish(operation &) noexcept {
    return false;
}

#endif

} // namespace thence::engine
