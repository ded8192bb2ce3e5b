// SPDX-License-Identifier: BSD-3-Clause
// Freeing the continuation requests of senders. Headers do not call it.
#pragma once

#include <thence/senders/detail/exports.hpp>

namespace thence::libthence_senders {

// Frees them all, as MPI_Finalize does. The next use creates new ones.
void release_requests() noexcept;

} // namespace thence::libthence_senders
