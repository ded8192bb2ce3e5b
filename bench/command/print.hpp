// SPDX-License-Identifier: BSD-3-Clause
// Reports for people.
#pragma once

#include "measure/figure.hpp"

namespace command {

void print(const measure::report &report);

} // namespace command
