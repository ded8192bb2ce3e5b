// SPDX-License-Identifier: BSD-3-Clause
// The switch of an MPI that has a progress thread of its own, as a contender beside ours.
#pragma once

#include "measure/library.hpp"

#include <string>

namespace measure {

// NAME=value for the environment; empty if this MPI has none. MPICH and Intel MPI start a thread that polls all the
// time, and need MPI_THREAD_MULTIPLE for it, which they then give every program.
inline std::string own_progress_switch() {
    const std::string text = library_version();
    return text.find("Intel") != text.npos   ? "I_MPI_ASYNC_PROGRESS=1"
           : text.find("MPICH") != text.npos ? "MPIR_CVAR_ASYNC_PROGRESS=1"
                                             : std::string();
}

} // namespace measure
