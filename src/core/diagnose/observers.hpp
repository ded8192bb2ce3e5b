// SPDX-License-Identifier: BSD-3-Clause
// The two observers. That of the stall report stores when each continuation was attached, and which callback each
// thread runs. That of the timeline also keeps a record per continuation.
//
// `group::observed` of a continuation is 0 (not observed), an odd number (the time of attaching: twice the nanoseconds,
// plus one), or an even one (the address of its record).
#pragma once

#include "core/continuation/observe.hpp"

#include <cstddef>
#include <cstdint>

namespace thence::diagnose {

extern const continuation::observer stall_observer;
extern const continuation::observer trace_observer;

// Sets how many more records the timeline may take.
void set_record_limit(std::size_t limit) noexcept;

// When the continuation was attached; 0 if it was not observed.
std::uint64_t attached_at(const continuation::continuation &c) noexcept;

// A small number for the CR. It does not change while the CR exists, and is reused afterwards.
std::uint32_t cr_number(const continuation::continuation_request *cr) noexcept;

} // namespace thence::diagnose
