// SPDX-License-Identifier: BSD-3-Clause
// MPI error codes with a text of ours, so that MPI's own messages and MPI_Error_string tell what was wrong. A code is
// made when its error happens for the first time.
#pragma once

#include <string>

namespace thence::mpi {

// Reports an error of this class with this text through the error handler of MPI_COMM_WORLD. Returns its code: the
// class itself while MPI is not active, and where MPI cannot give a code a text.
int report(int error_class, const std::string &text) noexcept;

// MPI is about to end, and the codes with it.
void forget_error_codes() noexcept;

} // namespace thence::mpi
