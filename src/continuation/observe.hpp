// SPDX-License-Identifier: BSD-3-Clause
// Where the layer above looks on: stall report and timeline. Nothing while nobody does: singles take a way that is not
// observed, so while somebody looks there are none; a CR is asked when it is created.
//
// For one continuation the order is: attached, then either withdrawn (everything was complete at once, no callback), or
// ready, begin, end. The calls come from the thread that does the work; ready() may come from inside MPI's transport
// code, so it neither locks nor allocates. `observed` of the continuation is the observer's own.
#pragma once

#include "base/visibility.hpp"
#include "continuation/continuation.hpp"

#include <cstdint>

namespace thence::continuation {

struct observer {
    void (*attached)(continuation &) noexcept;
    void (*withdrawn)(continuation &) noexcept;
    void (*ready)(continuation &) noexcept;
    std::uint64_t (*begin)(continuation &) noexcept;
    // `started`: what begin() returned; 0 if the callback was not run because its CR keeps failed continuations.
    void (*end)(continuation &, std::uint64_t started, int result) noexcept;
    int (*slow_ms)() noexcept; // callbacks that take longer are told of; 0: none
};

// Null while nobody looks. Changes only while nothing is attached and no continuation request exists: in
// observer_set_up and observer_tear_down.
extern THENCE_HIDDEN const observer *observing;

} // namespace thence::continuation
