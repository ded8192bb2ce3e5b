// SPDX-License-Identifier: BSD-3-Clause
// The thread that makes progress for all channels. It counts as a thread of the application, so it needs libthence-core
// alone, on every MPI; Python stops it before MPI_Finalize. It rests while no operation is outstanding.
#pragma once

#include <cstdint>

namespace thence_python {

// Before an operation is attached. Wakes the thread if it rests.
void starts_one();
// After it was completed, or could not be attached.
void completed_one();

// While one exists, the thread is not in MPI: to cancel operations.
class no_progress {
public:
    no_progress();
    ~no_progress();
    no_progress &operator=(no_progress &&) = delete;
};

// Calls `test`, which tests a request, until it returns true, for at most so many nanoseconds. As the thread, it stays
// out of MPI while an operation is cancelled. Returns whether `test` has returned true.
bool test_until(bool (*test)(void *), void *data, std::int64_t longest);

} // namespace thence_python
