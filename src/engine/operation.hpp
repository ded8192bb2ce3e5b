// SPDX-License-Identifier: BSD-3-Clause
// An operation: one active MPI request on its way to completion.
//
// Ownership: from engine::watch() returning `pending` until the sink is called, the engine owns `request`, `error` and
// `*status`; afterwards the owner does. `watch` decides which; nobody else writes them.
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
    union {
        MPI_Request request;
        void *link; // the owner's, while no engine has this operation
    };
    MPI_Status *status; // where its status goes, if wanted()
    int error;
    tending how;
    // The owner's, so that one operation and its owner fit in a cache line; no engine looks at these.
    bool in_group;
    std::atomic<std::uint8_t> word;
};
static_assert(sizeof(operation) == 24);

inline bool wanted(const MPI_Status *status) noexcept {
    return status != MPI_STATUS_IGNORE && status != nullptr;
}

// For onlookers: the engine may take results meanwhile. What they decide on, it checks again under its own lock.
inline tending how(const operation &op) noexcept {
    return std::atomic_ref(const_cast<tending &>(op.how)).load(std::memory_order_relaxed);
}
inline void set_how(operation &op, tending how) noexcept {
    std::atomic_ref(op.how).store(how, std::memory_order_relaxed);
}

} // namespace thence::engine
