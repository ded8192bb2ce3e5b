// SPDX-License-Identifier: BSD-3-Clause
// Collectives of small data whose ranks are all in one process, by direct reads of what the others bring (meeting.hpp).
// All ranks find the same answer to the question whether the data are small, since all look at the same contributions.
#pragma once

#include "mpix/threadcomm/collectives.hpp"

namespace thence::threadcomm {

// For a communicator with a meeting. False: it has to be done by messages, on all ranks. True: it is done, with an error
// class in `error`.
bool broadcast_directly(member &me, const data_argument &data, int root, int &error) noexcept;
// To all ranks, in their order. The arguments are checked.
bool reduce_directly(member &me, const reduction &what, int &error) noexcept;

} // namespace thence::threadcomm
