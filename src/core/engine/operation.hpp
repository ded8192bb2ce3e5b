// SPDX-License-Identifier: BSD-3-Clause
// An operation: one active MPI request on its way to completion.
//
// Ownership: from engine::watch() returning `pending` until the sink is called, the engine owns `request`, `error` and
// `*status`; afterwards the owner does. Only the one that owns them writes them.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstdint>

namespace thence::engine {

// How the completion of an operation is found.
enum class completion_path : std::uint8_t {
    done,       // it is complete and its results are taken: the status is written, the request released
    pushed,     // MPI calls us; finish() takes the results
    polled,     // the polled set tests it, which takes the results
    persistent, // as polled, but the request is persistent: it stays with the user and is never released here
    waiting,    // the "operation" is a continuation request, which notifies its waiters itself
};

struct operation {
    union {
        MPI_Request request;
        void *link; // belongs to the owner while no engine has this operation
    };
    MPI_Status *status; // where its status goes, if wanted()
    int error;
    completion_path path;
    // Both belong to the owner. They are here so that one operation and its owner fit in a cache line.
    bool in_group; // several operations have one owner
    std::atomic<std::uint8_t> word;
};
static_assert(sizeof(operation) == 24);

inline bool wanted(const MPI_Status *status) noexcept {
    return status != MPI_STATUS_IGNORE && status != nullptr;
}

// For threads other than the one that changes the path. The engine may take the results at any moment. So whatever a
// caller decides by this value, the engine checks again under its own lock.
inline completion_path path_of(const operation &op) noexcept {
    return std::atomic_ref(const_cast<completion_path &>(op.path)).load(std::memory_order_relaxed);
}
inline void set_path(operation &op, completion_path path) noexcept {
    std::atomic_ref(op.path).store(path, std::memory_order_relaxed);
}

// True if an engine watches the operation. Only then is it cancelled or searched for.
inline bool is_watched(const operation &op) noexcept {
    const completion_path path = path_of(op);
    return path != completion_path::done && path != completion_path::waiting;
}

} // namespace thence::engine
