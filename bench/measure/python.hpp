// SPDX-License-Identifier: BSD-3-Clause
// The Python that draws figures.
#pragma once

#include <string>

namespace measure {

// A Python with matplotlib: the one in PATH, or that of the system, for which distributions package it. Empty if there
// is none.
std::string python_with_matplotlib();

} // namespace measure
