// SPDX-License-Identifier: BSD-3-Clause
// Sets how often MPI polls inside one call that tests many requests.
#pragma once

namespace thence::mpi {

// MPICH's Testsome and Testall poll before the first request and again after every eight. That costs more than the rest
// of the call, and one poll would be enough. This makes them poll again only after every `requests`. It does not change
// a setting of the user (the environment variable MPIR_CVAR_REQUEST_POLL_FREQ), and does nothing if MPI has no such
// setting.
void set_request_poll_frequency(int requests) noexcept;

} // namespace thence::mpi
