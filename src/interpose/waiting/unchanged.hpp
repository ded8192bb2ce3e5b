// SPDX-License-Identifier: BSD-3-Clause
// What libthence does for a program that nobody has changed, if its environment asks for it: progress by the helper
// thread (THENCE_PROGRESS=always), and blocking calls that leave the processor (THENCE_WAIT).
#pragma once

#include "core/base/visibility.hpp"
#include "interpose/waiting/wait_strategy.hpp"

#include <atomic>
#include <cstdint>

namespace thence::interpose {

// A blocking call tests, and pauses as THENCE_WAIT says.
extern THENCE_INTERNAL const wait_strategy leaving_the_processor;
extern THENCE_INTERNAL std::atomic<bool> waits_leave_the_processor;
// The same for all ranks of MPI_COMM_WORLD, so a nonblocking collective may stand for a blocking one, or before it.
extern THENCE_INTERNAL std::atomic<bool> all_ranks_leave_the_processor;
// What calls that wait in this way have learnt.
class usual_wait;
extern THENCE_INTERNAL usual_wait usual_wait_of_process;

THENCE_INTERNAL void wait_for_ranks_asleep(MPI_Comm comm) noexcept;
// Before a call that all ranks of the communicator make, and that waits for them inside MPI. If the waits of all ranks
// leave the processor, it waits here until all have come, so that little is left to wait for inside MPI.
inline void wait_for_ranks(MPI_Comm comm) noexcept {
    if (all_ranks_leave_the_processor.load(std::memory_order_relaxed)) {
        wait_for_ranks_asleep(comm);
    }
}

namespace unchanged {

// True if MPI shall be initialized with MPI_THREAD_MULTIPLE, whatever the program asks for.
THENCE_INTERNAL bool raises_level() noexcept;
// The level that the program is told of, if it is less than what MPI has.
THENCE_INTERNAL void set_reported_level(int level) noexcept;
THENCE_INTERNAL int reported_level() noexcept;
// Called by each rank with THENCE_WAIT in its environment. @return whether all ranks of MPI_COMM_WORLD leave the
// processor. Of those that would, but not all, one says so. A rank that waits for others says so after a while, and in
// the end aborts: some run without THENCE_WAIT.
THENCE_INTERNAL bool ask_all_ranks(bool leaves, std::int64_t says_after, std::int64_t gives_up_after) noexcept;
// MPI is initialized. Begins what the environment asks for.
void mpi_initialized() noexcept;
// MPI_Finalize begins.
void mpi_finalizes() noexcept;
// MPI_Session_init has succeeded.
THENCE_INTERNAL void session_began() noexcept;
// The process ends. If the environment asks for something, and no MPI_Init has come to libthence, it says so.
THENCE_INTERNAL void process_ends() noexcept;

} // namespace unchanged
} // namespace thence::interpose
