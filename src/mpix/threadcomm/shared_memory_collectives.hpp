// SPDX-License-Identifier: BSD-3-Clause
// Collectives of small data whose ranks are all in one process, by reading the contributions of the others in shared
// memory (shared_exchange.hpp). Whether the data are small, all ranks decide by the same contributions, so all decide
// the same.
#pragma once

#include "mpix/threadcomm/collectives.hpp"

namespace thence::threadcomm {

// For a communicator with a shared exchange. False: it has to be done by messages, on all ranks. True: it is done, with
// an error class in `error`.
bool broadcast_in_shared_memory(member &me, const data_argument &data, int root, int &error) noexcept;
// To all ranks, in their order. The arguments are checked.
bool reduce_in_shared_memory(member &me, const reduction &what, int &error) noexcept;

} // namespace thence::threadcomm
