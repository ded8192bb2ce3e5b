// SPDX-License-Identifier: BSD-3-Clause
// Completion: an operation is done, so its continuation may have become ready to run.
//
// Any thread may call these functions, also inside MPI's transport code. So they only count and queue. Callbacks run
// here only if their CR allows it (THENCE_CR_IN_COMPLETION).
#pragma once

#include "core/continuation/continuation.hpp"

namespace thence::continuation {

// MPI calls one of these when a pushed request is complete (core/engine/push.hpp). For single_complete() the request's
// data is the continuation, a single. For request_complete() it is an operation of any continuation.
int single_complete(void *request) noexcept;
int request_complete(void *request) noexcept;

// The sink of every engine: called for an operation that is complete.
void operation_complete(engine::operation &op) noexcept;

// Puts a ready continuation into the queue from which its CR lets it run. When this returns, `c` may have run already.
void make_ready(continuation &c) noexcept;

// All operations of `c` were found complete while attaching. The caller is in the busy_scope of the attaching call.
int complete_at_once(continuation &c, bool may_run, int *flag) noexcept;

// For each callback that has run in MPI's completion path: releases the request, and gives back the continuation and
// the CR's reference. Called after MPI's progress has returned.
__attribute__((noinline)) void give_back_completed() noexcept;

} // namespace thence::continuation
