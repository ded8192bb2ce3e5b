// SPDX-License-Identifier: BSD-3-Clause
// MPI error codes with our own text, so that MPI's messages and MPI_Error_string describe the error. A code is created
// when its error happens for the first time.
#pragma once

#include "core/mpi/calls.hpp" // the form of report() without a text

#include <string>

namespace thence::mpi {

// What is wrong with a call. Converts to true if anything is.
struct failure {
    int error_class = MPI_SUCCESS;
    const char *text = nullptr;
    explicit operator bool() const noexcept { return text != nullptr; }
};

// Reports an error of this class with this text through the error handler of MPI_COMM_WORLD. Returns its code. The code
// is the class itself if MPI is not active, or if MPI cannot give the code a text.
int report(int error_class, const std::string &text) noexcept;

// The same through the error handler of a communicator; MPI_COMM_NULL: that of MPI_COMM_WORLD. The text is `call`, a
// colon and `why`.
int report_on(MPI_Comm comm, const char *call, const failure &why) noexcept;

// The code that a function of the user returned, if `code` says that one failed, else `code`. MPICH's MPI_Testsome
// gives a generalized request whose query or free function fails a code of class MPI_ERR_OTHER, and has freed the
// request by then: the text of that code is the only place that has what the function returned. MPI_Test gives it as it
// is.
int code_of_function(int code) noexcept;

// Called before MPI ends, since the codes end with it.
void forget_error_codes() noexcept;

} // namespace thence::mpi
