// SPDX-License-Identifier: BSD-3-Clause
// The library as a whole: set up with the first continuation request, taken down at MPI_Finalize.
//
// MPI_Finalize deletes the attributes of MPI_COMM_SELF, the last one first, and calls their delete callbacks, in which
// libraries complete their work. The library ends when its own attribute is deleted. libthence sets that in MPI_Init,
// before anybody else, so that the library ends last. Without libthence it is set with the first use. Then the library
// has ended in the delete callbacks of attributes that were set before, and its calls return an error there.
#pragma once

#include "core/base/visibility.hpp"

#include <mpi.h>

#include <atomic>

namespace thence::continuation {

extern THENCE_HIDDEN std::atomic<bool> is_set_up;
enum class setting_up { done, mpi_is_inactive, library_has_ended, no_source_left };
setting_up set_up_first() noexcept;

// Sets the library up if it is not. Unless it returns `done`, nothing has changed.
inline setting_up set_up() noexcept {
    return is_set_up.load(std::memory_order_acquire) ? setting_up::done : set_up_first();
}

// Removes the library's hook, callbacks and helper thread from MPI, and resets the state. Reports outstanding
// continuations. Afterwards it may be set up again, as tests do: they start their MPI again.
void tear_down() noexcept;

// MPI has been initialized, and nobody has set an attribute of MPI_COMM_SELF yet.
THENCE_INTERNAL void mpi_initialized() noexcept;

// The attribute is deleted: runs what is complete, then tears down for good.
THENCE_INTERNAL void finalizing() noexcept;

// True after that.
bool has_ended() noexcept;

// A room above that holds requests or functions of the user. Its functions are called once at MPI_Finalize: the first
// while everything still works, the second when the library is torn down. The helper thread still runs then, and may be
// in a function of the user that the room has called. Each may be null. Then they are not called again.
struct finalize_functions {
    void (*finalizing)() noexcept;
    void (*tear_down)() noexcept;
    finalize_functions *next = nullptr; // of those that were added
};
// Adds a static object; one that was added already stays. The library is set up.
void add_finalize_functions(finalize_functions &added) noexcept;

// A library above, which ends before this one. Called once at MPI_Finalize while everything works, the last one added
// first. The library is set up. One that was added already stays. False: there is no room.
using finalize_function = void();
inline constexpr int most_finalize_functions = 8;
bool add_finalize_function(finalize_function *added) noexcept;

// True if the thread level allows one thread to attach while another is inside MPI. Set by set_up().
extern THENCE_HIDDEN std::atomic<bool> others_may_attach;

// src/core/diagnose sets these. Called at MPI_Finalize: if anything is outstanding, it reports that.
extern void (*report_outstanding)(const char *when);
// Called at the end of set_up(), and in tear_down() before the operations are abandoned.
extern void (*observer_set_up)();
extern void (*observer_tear_down)();

} // namespace thence::continuation
