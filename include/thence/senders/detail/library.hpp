// SPDX-License-Identifier: BSD-3-Clause
#ifndef THENCE_SENDERS_DETAIL_LIBRARY_HPP
#define THENCE_SENDERS_DETAIL_LIBRARY_HPP
#if __cplusplus < 202002L
#error "thence/senders/detail/library.hpp needs C++20: compile with -std=c++20"
#else

// What libthence-senders holds: state of which a process has one, also where several shared objects that hide their
// symbols use senders. The namespace has the library's name, so that a linker which misses a symbol names what to link.
// No header defines a function in it.

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

/** The continuation requests for all operations of the process that nobody can stop. */
struct shared_requests {
    detail::atomic<bool> ready{false};
    MPI_Request normal{}; // valid while ready
    MPI_Request in_completion{};
};
extern constinit shared_requests requests;
/** Makes them at first use; MPI_Finalize frees them. @return MPI's error code; MPI_ERR_OTHER unless MPI is active. */
int make_requests() noexcept;

/** A continuation request that is lent to one operation at a time. */
struct lent_request {
    MPI_Request cr;
    lent_request *next;
};
/** @return MPI's error code; `lent` is set if that is MPI_SUCCESS. */
int lend_request(lent_request *&lent) noexcept;
void give_back_request(lent_request *lent) noexcept;

/** In how many completions of senders this thread is. They nest: a poll may let MPI's progress run callbacks of others.
 *  In any of them it must not wait (see sync_wait). */
extern constinit thread_local unsigned completing [[gnu::tls_model("initial-exec")]];

/** From now on the timer is in the heap, until cancel_timer() or until its time is over. */
void set_timer(detail::timer &added, detail::timer_time when) noexcept;
/** On return the timer is in no list, and if it ever runs, begin() has been called. */
void cancel_timer(detail::timer &gone) noexcept;
/** Runs the timers whose time is over. @return whether there was any. */
bool run_timers() noexcept;

} // namespace thence::libthence_senders
#pragma GCC visibility pop

#endif // C++20
#endif
