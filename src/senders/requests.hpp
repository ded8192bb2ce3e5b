// SPDX-License-Identifier: BSD-3-Clause
// What of the continuation requests of senders the library itself calls.
#pragma once

#include <thence/senders/detail/library.hpp>

namespace thence::libthence_senders {

// Frees them all, as MPI_Finalize does. The next use makes new ones.
void release_requests() noexcept;

} // namespace thence::libthence_senders
