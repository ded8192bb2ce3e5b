// SPDX-License-Identifier: BSD-3-Clause
// Where a timeline or a slow-callback report may look on: nothing while nobody does. Singles take a way
// that is not observed; so while somebody looks there are none: a CR is asked when it is created.
#pragma once

#include "continuation/continuation.hpp"

#include <cstdint>

namespace thence::continuation {

struct observer {
    std::uint64_t (*begin)(const continuation &) noexcept = nullptr;
    void (*end)(const continuation &, std::uint64_t started) noexcept = nullptr;
};

// Null while nobody looks. Set before the first continuation request is created.
extern const observer *observing;

} // namespace thence::continuation
