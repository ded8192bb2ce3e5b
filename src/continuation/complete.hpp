// SPDX-License-Identifier: BSD-3-Clause
// Completion: an operation is done, so its continuation may have become ready to run.
//
// All of this may be called by any thread, and from inside MPI's transport code. So it only counts and queues, unless
// the CR promises that its callbacks bear more (THENCE_CR_IN_COMPLETION).
#pragma once

#include "continuation/continuation.hpp"

namespace thence::continuation {

// What MPI calls when a pushed request is complete (engine/push.hpp). The request's data is the continuation of a
// single, or an operation of any other.
int single_complete(void *request) noexcept;
int request_complete(void *request) noexcept;

// The sink of every engine.
void operation_complete(engine::operation &op) noexcept;

// Ends what callbacks that ran in MPI's completion path left to be done. Called when MPI's progress is over.
__attribute__((noinline)) void give_back_completed() noexcept;

} // namespace thence::continuation
