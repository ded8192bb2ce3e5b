// SPDX-License-Identifier: BSD-3-Clause
// What libthence tells the library: that it is linked, and that MPI_Finalize begins.
#pragma once

#include "core/base/visibility.hpp"

namespace thence::interpose {

// Called before main(). From then on completion calls come to the library first, and so does MPI_Finalize. Returns true.
THENCE_INTERNAL bool say_interposed() noexcept;

// Tears the library down. Called before MPI_Finalize begins.
THENCE_INTERNAL void finalizing() noexcept;

// True if this thread is inside a callback.
THENCE_INTERNAL bool in_callback() noexcept;

} // namespace thence::interpose
