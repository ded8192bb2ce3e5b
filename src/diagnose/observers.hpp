// SPDX-License-Identifier: BSD-3-Clause
// The two observers: one for the stall report, which keeps only when a continuation was attached and which callback
// each thread is in, and one for the timeline, which keeps a record per continuation as well.
//
// `continuation::observed` is 0, or a time (odd: nanoseconds times two plus one), or the address of a record (even).
#pragma once

#include "continuation/observe.hpp"

#include <cstddef>
#include <cstdint>

namespace thence::diagnose {

extern const continuation::observer stall_observer;
extern const continuation::observer trace_observer;

// Most records that the timeline may take from now on.
void allow_records(std::size_t limit) noexcept;

// When the continuation was attached; 0 if nobody observed it.
std::uint64_t attached_at(const continuation::continuation &c) noexcept;

// The number of a CR: small, stable while it lives, reused afterwards.
std::uint32_t cr_number(const continuation::continuation_request *cr) noexcept;

} // namespace thence::diagnose
