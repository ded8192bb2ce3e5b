// SPDX-License-Identifier: BSD-3-Clause
// Testing a continuation request, and waiting for it.
#pragma once

#include "core/continuation/request.hpp"
#include "core/mpi/calls.hpp"

namespace thence::continuation {

struct test_result {
    bool complete = false;
    int error = MPI_SUCCESS;
    bool handled = false; // the error handler has been called already
};
// Calls the error handler unless that has been done. Returns the error.
inline int report(const test_result &result) noexcept {
    return result.error == MPI_SUCCESS || result.handled ? result.error : mpi::report(result.error);
}
// Incomplete with MPI_ERR_PENDING: see wait(). Incomplete with MPI_ERR_OTHER: the library has ended.
test_result test(continuation_request &cr) noexcept;
// The result for a CR that a completion call has seen idle. It is valid also if another thread has registered a
// continuation since.
test_result report_complete(continuation_request &cr) noexcept;
// The polling part of a test: lets MPI make progress and polls all sources. True if run_sources() may have something to
// do.
bool poll_for(const continuation_request &cr) noexcept;
// Blocks until `cr` is complete. Inside a callback it returns MPI_ERR_PENDING if only the return of that callback could
// make `cr` complete.
test_result wait(continuation_request &cr) noexcept;

} // namespace thence::continuation
