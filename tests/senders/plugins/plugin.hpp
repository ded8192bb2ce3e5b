// SPDX-License-Identifier: BSD-3-Clause
// What the host asks of a plug-in. Each plug-in is this interface, found by name in a shared object.
#pragma once

#include <mpi.h>

struct plugin {
    // Receives what nobody sends, until a deadline of `ms` milliseconds. When it is over, sends `tag` to this rank.
    void (*start_deadline)(int ms, int tag);
    // Waits with thence::sync_wait() for a message with `tag`, no longer than 10 s. @return whether it came.
    bool (*wait_for)(int tag);
    // Receives a message with `tag`; in its completion it calls `inside`.
    void (*start_receive)(int tag, void (*inside)());
    // @return whether thence::sync_wait() refused to wait here.
    bool (*is_refused)();
    // The continuation request of the operations that nobody can stop.
    MPI_Request (*shared_request)();
};

using get_plugin = const plugin *();
