// SPDX-License-Identifier: BSD-3-Clause
// Generalized requests and async functions as one source of progress. There are two lists: functions that may call MPI
// are called from a hook of MPI that runs callbacks, from waiting calls and from the helper thread. Those of which the
// user says that they do not call MPI are also called from a hook that runs under a lock of MPI.
#pragma once

#include "core/continuation/thread_state.hpp"
#include "core/mpi/extension.hpp"
#include "mpix/grequest/polled_list.hpp"

#include <atomic>
#include <cstddef>

namespace thence::grequest {

extern THENCE_HIDDEN polled_list &may_call_mpi;
extern THENCE_HIDDEN polled_list &never_call_mpi;

// Make room in both lists for all requests and all async functions. False if memory is exhausted. With the lock.
bool room_for_requests(std::size_t count) noexcept;
bool room_for_things(std::size_t count) noexcept;

extern THENCE_HIDDEN std::atomic<bool> is_set_up;
bool set_up_first() noexcept;
// Registers the source, if it is not registered. False if there are too many. The library is set up.
inline bool set_up() noexcept {
    return is_set_up.load(std::memory_order_acquire) || set_up_first();
}

// No function of the user may run inside an attach, a poll or a pass of ours, nor in a callback that has interrupted
// MPI's progress. In an ordinary callback it may: that may wait for a generalized request.
inline bool may_run_here() noexcept {
    using continuation::thread_state;
    const unsigned long busy = continuation::this_thread.busy & ~thread_state::enlisted_mark;
    return busy == 0 || busy == thread_state::running_mark + 1;
}

// True if something has to be polled.
THENCE_INTERNAL bool any_polled() noexcept;

// For thence_extension_query().
mpi::extension_facts grequest_facts() noexcept;
mpi::extension_facts async_facts() noexcept;

} // namespace thence::grequest
