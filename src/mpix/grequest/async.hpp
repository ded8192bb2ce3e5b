// SPDX-License-Identifier: BSD-3-Clause
// Async functions: functions of the user that progress calls until they say that they are done. They are in the same
// lists as the generalized requests that are polled.
#pragma once

#include "mpix/grequest/polled_list.hpp"

#include <thence/progress.h>

struct thence_async final : thence::grequest::polled {
    thence_async_poll_function *function;
    void *state;
    thence_async *next; // in the pool
};

namespace thence::grequest {

// Returns false if memory is exhausted. The room is set up.
bool start_async(thence_async_poll_function *function, void *state, bool calls_no_mpi) noexcept;

// Called by a pass. True if it is done.
bool poll(thence_async &thing) noexcept;

// How many are not done.
long running_async() noexcept;
// The lists are emptied. With the lock.
void forget_all_async() noexcept;

} // namespace thence::grequest
