// SPDX-License-Identifier: BSD-3-Clause
// How often MPI polls inside one call that tests many requests.
#pragma once

namespace thence::mpi {

// MPICH's Testsome and Testall poll before the first request, and again every eight, which costs more than all else
// that they do; one poll would do. From now on they poll again every `requests` only. A setting of the user's own stays
// (the environment variable MPIR_CVAR_REQUEST_POLL_FREQ). Does nothing where MPI has no such setting.
void poll_rarely_in_tests(int requests) noexcept;

} // namespace thence::mpi
