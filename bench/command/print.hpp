// SPDX-License-Identifier: BSD-3-Clause
// Prints a report as text.
#pragma once

#include "measure/figure.hpp"

namespace command {

void print(const measure::report &report);

} // namespace command
