// SPDX-License-Identifier: BSD-3-Clause
// On SimGrid's SMPI time is simulated. The machine's own time for a computation depends on what else runs there, so
// simulated ranks are charged a given cost instead: figures then repeat exactly.
#pragma once

#include <mpi.h>

namespace apps {

#if defined(THENCE_SIMULATED)
constexpr bool simulated = true;
#else
constexpr bool simulated = false;
#endif

// Charges this rank `seconds` of computation, on a processor of the speed at which they were measured. Does nothing on
// a real MPI.
inline void inject([[maybe_unused]] double seconds) {
#if defined(THENCE_SIMULATED)
    if (seconds > 0) {
        smpi_execute(seconds);
    }
#endif
}

// Lets simulated time pass, whatever the speed of the host. Does nothing on a real MPI.
inline void pass([[maybe_unused]] unsigned microseconds) {
#if defined(THENCE_SIMULATED)
    smpi_usleep(microseconds);
#endif
}

} // namespace apps
