// SPDX-License-Identifier: BSD-3-Clause
// Whether there are fewer processors than threads that are ready to run. A thread that polls and sleeps cannot see it
// by itself: when it wakes it runs at once, in place of a thread that computes.
#pragma once

#include "core/base/clock.hpp"

#include <atomic>

namespace thence::base {

// The number of processors of this machine that are online: 1 or more.
long processors() noexcept;

// As it was less than a millisecond before `time`, which is now. Reads a file of the system at most once in a
// millisecond, which takes a few microseconds. False where the system does not tell. Threads: any.
bool processors_are_taken(nanoseconds time) noexcept;

// They were taken in at most half of the last four looks. One look may find threads that run for a moment only. Else as
// processors_are_taken().
bool processors_are_mostly_free(nanoseconds time) noexcept;

// How long a thread was ready without a processor. One that comes back late from a sleep may as well have waited for
// the processor itself to wake, which on virtual machines takes a millisecond now and then. Threads: one, always the
// same.
class waits_for_processor {
public:
    // Whether there was one of more than a moment since the last call of one of these two. `time`: now. True where the
    // system does not tell.
    bool was_one(nanoseconds time) noexcept;
    // To be called often: it reads a file of the system every 20 ms.
    void look(nanoseconds time) noexcept;

private:
    nanoseconds seen_ = 0;
    nanoseconds looked_ = 0;
};

// For tests: called in place of these, if they are not null.
extern std::atomic<bool (*)() noexcept> scripted_processors;
extern std::atomic<bool (*)() noexcept> scripted_wait_for_processor;

} // namespace thence::base
