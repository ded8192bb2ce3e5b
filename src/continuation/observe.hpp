// SPDX-License-Identifier: BSD-3-Clause
// Where a timeline or a slow-callback report may look on: one test of a flag per callback while nobody does.
#pragma once

#include "continuation/continuation.hpp"

#include <cstdint>

namespace thence::continuation {

struct observer {
    std::uint64_t (*begin)(const continuation &) noexcept = nullptr;
    void (*end)(const continuation &, std::uint64_t started) noexcept = nullptr;
};

// Null while nobody looks. Set before the first continuation is attached.
extern const observer *observing;

} // namespace thence::continuation
