// SPDX-License-Identifier: BSD-3-Clause
// Testing a continuation request, and waiting for it.
#pragma once

#include "continuation/request.hpp"
#include "mpi/calls.hpp"

namespace thence::continuation {

struct test_result {
    bool complete = false;
    int error = MPI_SUCCESS;
    bool handled = false; // an error handler has been told of it
};
// Tells the error handler, unless one knows. Returns the error.
inline int report(const test_result &result) noexcept {
    return result.error == MPI_SUCCESS || result.handled ? result.error : mpi::report(result.error);
}
test_result test(continuation_request &cr) noexcept;
// What a completing call reports of a CR that it saw idle, also if another thread has registered with it since.
test_result report_complete(continuation_request &cr) noexcept;
// The part of a test that polls: lets MPI make progress, and polls all sources.
void poll_for(const continuation_request &cr) noexcept;
// Blocks until complete, except for MPI_ERR_PENDING inside a callback that nothing else could satisfy.
test_result wait(continuation_request &cr) noexcept;

} // namespace thence::continuation
