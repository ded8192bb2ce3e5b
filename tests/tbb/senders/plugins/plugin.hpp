// SPDX-License-Identifier: BSD-3-Clause
// The interface of a plug-in. The host finds it by name in the shared object.
#pragma once

#include <mpi.h>

struct plugin {
    // Starts a receive that gets no message before its deadline of `ms` milliseconds. Then sends `tag` to this rank.
    void (*start_deadline)(int ms, int tag);
    // Waits with thence::sync_wait() for a message with `tag`, for 10 s at most. @return whether it arrived.
    bool (*wait_for)(int tag);
    // Receives a message with `tag`. Calls `inside` in the completion.
    void (*start_receive)(int tag, void (*inside)());
    // @return whether thence::sync_wait() throws here.
    bool (*is_refused)();
    // An operation and its future. Any plug-in may call each of these with what any other has made.
    void *(*spawn)();
    void (*drop_future)(void *spawned);
    void (*start_future)(void *spawned, void (*completed)()); // `completed` is called with the operation
    void (*complete)(void *spawned);                          // completes the operation, then ends everything
    // The continuation request of operations that cannot be stopped.
    MPI_Request (*shared_request)();
};

using get_plugin = const plugin *();
