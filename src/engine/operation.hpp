// SPDX-License-Identifier: BSD-3-Clause
// An operation: one active MPI request on its way to completion.
//
// Ownership: from engine::watch() returning `pending` until completed() is called, the engine owns `request`, `error`
// and `*status`; afterwards the continuation does. `watch` decides which; nobody else writes them.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstdint>

namespace thence::engine {

enum class tending : std::uint8_t {
    done,    // results taken: status written, request released
    pushed,  // MPI itself will call us; results are taken by finish()
    polled,  // the polled set looks at it; results are taken when it is found complete
    kept,    // polled too, but the request is the user's (persistent): it is never released here
    waiting, // the "operation" is a continuation request
};

struct operation {
    MPI_Request request;
    MPI_Status *status; // where its status goes, or null
    void *owner;        // the continuation
    int error;
    tending how;
};

// For onlookers: the engine may take results meanwhile. What they decide on, it checks again under its own lock.
inline tending how(const operation &op) noexcept {
    return std::atomic_ref(const_cast<tending &>(op.how)).load(std::memory_order_relaxed);
}
inline void set_done(operation &op) noexcept {
    std::atomic_ref(op.how).store(tending::done, std::memory_order_relaxed);
}

} // namespace thence::engine
