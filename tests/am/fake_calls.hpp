// SPDX-License-Identifier: BSD-3-Clause
// The functions of MPI that src/am calls, for one process on the fake MPI: messages to itself. What is started
// completes in the next progress, unless the test says otherwise. Thread-safe but for the script, which is set while
// nothing runs.
#pragma once

#include "library.hpp"

#include <functional>

namespace thence::fake {

struct message_script {
    // The error that a message ends with. Asked when it is sent; if it is one, the message does not arrive.
    std::function<int(int tag, int bytes)> send_error;
    // The error that receives end with that are started from now on.
    std::atomic<int> receive_error{MPI_SUCCESS};
    bool holds_sends = false;       // they do not complete before release()
    bool holds_collectives = false; // nor do collective operations
    int largest_tag = 32767;
};
extern message_script script;

// Forgets messages and receives, and resets the script.
void begin_messages();
// What was held completes in the next progress.
void release();
// All receives that are posted end with this error, but those of `kept` bytes.
void fail_posted(int error, int kept = -1);

} // namespace thence::fake
