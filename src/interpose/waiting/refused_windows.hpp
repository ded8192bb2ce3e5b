// SPDX-License-Identifier: BSD-3-Clause
// Windows that MPI refuses to create since THENCE_PROGRESS=always has raised its thread level: Open MPI 4.1 does so
// over TCP. The program has worked without. Where MPI's default error handler ends the program, Open MPI's own text
// says that the level is the reason.
#pragma once

#include "core/base/visibility.hpp"

namespace thence::interpose {

// A call of this name, which creates a window, has returned an error. If the raised level may be the reason, this says
// so, once in a process.
THENCE_INTERNAL void tell_if_level_forbids_windows(const char *call, int code) noexcept;

} // namespace thence::interpose
