// SPDX-License-Identifier: BSD-3-Clause
// Generalized requests and async functions as one source of progress. There are two lists: functions that may call MPI
// are called from a hook of MPI that runs callbacks, from waiting calls and from the helper thread. Those of which the
// user says that they do not call MPI are also called from a hook that runs under a lock of MPI.
#pragma once

#include "grequest/polled_list.hpp"
#include "mpi/extension.hpp"

namespace thence::grequest {

extern THENCE_HIDDEN polled_list with_mpi;
extern THENCE_HIDDEN polled_list without_mpi;

// Registers the source, if it is not registered. False if there are too many. The library is set up.
bool set_up() noexcept;

// True if something has to be polled.
THENCE_INTERNAL bool any_polled() noexcept;

// For thence_extension_query().
mpi::extension_facts grequest_facts() noexcept;
mpi::extension_facts async_facts() noexcept;

} // namespace thence::grequest
