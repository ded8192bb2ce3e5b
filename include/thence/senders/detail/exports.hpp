// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// The functions and the state of libthence-senders. A process has this state once, also if several shared objects that
// hide their symbols use senders. The namespace has the name of the library: if the linker does not find a symbol, its
// message says what to link. No header defines a function in it.

#include <cstdint>

#include <thence/detail/atomic.hpp>
#include <thence/thence.h>

namespace thence::detail {

/** Nanoseconds of the monotonic clock. */
using timer_time = std::int64_t;

class timer;

} // namespace thence::detail

#pragma GCC visibility push(default)
namespace thence::libthence_senders {

/** The continuation requests of all operations of the process that cannot be stopped. */
struct shared_requests {
    detail::atomic<bool> ready{false};
    MPI_Request normal{}; // valid while ready
    MPI_Request in_completion{};
};
extern constinit shared_requests requests;
/** Creates them at first use; MPI_Finalize frees them. @return MPI's error code; MPI_ERR_OTHER unless MPI is active.
 *  Thread-safe, as all functions here. */
int make_requests() noexcept;

/** A continuation request for one operation at a time. */
struct own_request {
    MPI_Request cr;
    own_request *next;
};
/** Takes one for an operation that can be stopped. @return MPI's error code; `taken` is set if that is MPI_SUCCESS. */
int take_own_request(own_request *&taken) noexcept;
/** Call it when the operation is complete and no thread cancels it any more. */
void give_back_own_request(own_request *given) noexcept;

/** The number of completions of senders in which this thread is. They nest: in a completion that polls, MPI's progress
 *  may run callbacks of other operations. The thread must not wait in any of them (see sync_wait). */
#ifndef SMPI_H // SimGrid's SMPI loads one copy of the program for each rank: too many for static thread-local storage
[[gnu::tls_model("initial-exec")]]
#endif
extern constinit thread_local unsigned completing;

/** Puts the timer into the heap. It stays there until cancel_timer(), or until run_timers() finds that `when` is
 *  over. */
void set_timer(detail::timer &added, detail::timer_time when) noexcept;
/** Removes the timer from the heap. On return, either the timer will not run, or its begin() has been called. */
void cancel_timer(detail::timer &cancelled) noexcept;
/** Runs the timers whose time is over. @return whether there was any. */
bool run_timers() noexcept;

} // namespace thence::libthence_senders
#pragma GCC visibility pop
