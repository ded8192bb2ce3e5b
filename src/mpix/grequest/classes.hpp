// SPDX-License-Identifier: BSD-3-Clause
// Classes of generalized requests. A request copies the functions of its class, so a class may be freed at any time.
// The number of a class is never used again, so that of a freed one is recognized.
#pragma once

#include "mpix/grequest/request.hpp"

#include <thence/grequest.h>

#include <optional>

namespace thence::grequest {

// The number of a new class, or 0 if memory is exhausted.
thence_grequest_class create_class(const functions &of_user) noexcept;
// The functions of a live class.
std::optional<functions> functions_of(thence_grequest_class handle) noexcept;
// False if there is no such class.
bool free_class(thence_grequest_class handle) noexcept;

} // namespace thence::grequest
