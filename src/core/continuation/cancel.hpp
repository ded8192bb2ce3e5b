// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "core/continuation/request.hpp"

namespace thence::continuation {

// Asks MPI to cancel every pending operation that a continuation of `cr` waits for. Their continuations still run.
void cancel_all(continuation_request &cr) noexcept;

} // namespace thence::continuation
