// SPDX-License-Identifier: BSD-3-Clause
// What MPI_Win_test and MPI_Win_wait of the fake find, and what a test does inside of other calls.
#pragma once

#include <functional>

namespace thence::fake {

// Whether the exposure epoch has ended. Set by a test that calls one of them.
extern std::function<bool()> exposure_ends;
// Called in MPI_File_read, if it is set.
extern std::function<void()> in_file_read;
// The same in MPI_Win_flush.
extern std::function<void()> in_win_flush;

} // namespace thence::fake
