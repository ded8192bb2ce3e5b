// SPDX-License-Identifier: BSD-3-Clause
// The functions by which src/core/diagnose observes continuations, for the stall report and the timeline. The fast path
// for singles does not call them. So while an observer is set, every continuation is a group: a CR that is created then
// has neither pushes() nor polls().
//
// For one continuation the order is: attached, then withdrawn if all operations were complete at once and no callback
// runs, else ready, begin, end. Each call is made by the thread that does the step. ready() may be called inside MPI's
// transport code, so it neither locks nor allocates. `observed` of the group belongs to the observer.
#pragma once

#include "core/base/visibility.hpp"
#include "core/continuation/continuation.hpp"

#include <cstdint>

namespace thence::continuation {

struct observer {
    void (*attached)(continuation &) noexcept;
    void (*withdrawn)(continuation &) noexcept;
    void (*ready)(continuation &) noexcept;
    std::uint64_t (*begin)(continuation &) noexcept;
    // `started`: what begin() returned; 0 if the callback was not run because its CR keeps failed continuations.
    void (*end)(continuation &, std::uint64_t started, int result) noexcept;
    int (*slow_ms)() noexcept; // callbacks that take longer are reported; 0: none
};

// Null if nothing is observed. It changes only in observer_set_up and observer_tear_down, when nothing is attached and
// no continuation request exists.
extern THENCE_HIDDEN const observer *observing;

} // namespace thence::continuation
