// SPDX-License-Identifier: BSD-3-Clause
// Two MPIs in one process: a module that a script loads is linked with another MPI than libthence, which was preloaded
// before anybody could see that. Its calls come to libthence all the same, with handles and constants of the other MPI.
#pragma once

namespace thence::pmpi {

// True if `caller`, a code address, is in an object that is linked with another MPI than libthence. Then it is said on
// standard error. `call`: the name of the call that is made.
bool is_of_another_mpi(const char *call, const void *caller) noexcept;

} // namespace thence::pmpi
