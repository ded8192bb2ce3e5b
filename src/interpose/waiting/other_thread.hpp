// SPDX-License-Identifier: BSD-3-Clause
// Blocking calls that MPI has no nonblocking form of, in a task that can be blocked: a thread of the library makes the
// call, and the task is blocked until it has returned. Its worker runs other tasks meanwhile.
//
// There are as many threads as such calls at a time, since a call may wait for another one, of this process too. They
// stay for later calls, and sleep until then. MPI calls error handlers on them.
#pragma once

#include "core/base/visibility.hpp"

namespace thence::interpose {

struct call_on_other_thread {
    // Makes the call, and returns its code.
    int (*make)(void *call) noexcept;
    void *call;
    const char *name;  // of the function, for reports
    const void *where; // the code address of the user's call
};

// False, and nothing was done: the calling thread has to make the call, since it runs no task that can be blocked, or
// MPI does not allow several threads, or the system gives no more.
THENCE_INTERNAL bool block_task_meanwhile(const call_on_other_thread &made, int &code) noexcept;

} // namespace thence::interpose
