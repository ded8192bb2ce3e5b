// SPDX-License-Identifier: BSD-3-Clause
// Functions on requests for interposed calls (src/interpose/calls, a library of its own). They say whether a call only
// has to call MPI's own function, and if not, they do the work for one request of any kind. libthence uses the
// functions of this folder and those of src/core/api.
//
// In a program without continuations an interposed call only checks the handle and progress::slow_path_reasons. All
// other work is in the functions of the slow path, which is taken for these reasons:
//  - a handle is a continuation request (CR);
//  - a persistent request has continuations. Our poll and the user's call must not both complete it, and if our poll
//    was first, the user's call must still return the result;
//  - callbacks do not run from a progress hook of this MPI: a blocked call must poll and run callbacks itself;
//  - this thread is in a callback, and waiting threads of MPI rely on each other (see core/mpi/calls.hpp): a call that
//    blocks inside MPI could keep the thread that waits below it on the stack from ever returning.
#pragma once

#include "core/base/load_plain.hpp"
#include "core/base/visibility.hpp"
#include "core/continuation/handle.hpp"
#include "core/engine/openmpi_layout.hpp"
#include "core/engine/persistent_requests.hpp"
#include "core/progress/interposed.hpp"

#include <mpi.h>

#include <climits>
#include <cstdint>
#include <initializer_list>

namespace thence::interpose {

// A flag or count with this value was not set by MPI, so MPI refused the call. The return code does not always say so:
// MPICH 5 returns MPI_SUCCESS once an error handler of the user has been called.
inline constexpr int untouched = INT_MIN;

using continuation::from_fortran;
using continuation::is_cr_handle;
using continuation::is_fortran_handle;
using continuation::to_fortran;
using engine::openmpi::fortran_handle_offset;

// As is_plain() of communicators.hpp, for a call with these requests. A null pointer to a request is not plain.
inline bool is_plain(MPI_Request request) noexcept {
    return !is_cr_handle(request) && base::load_plain(progress::slow_path_reasons) == 0;
}
inline bool is_plain(const MPI_Request *request) noexcept {
    return reinterpret_cast<std::uintptr_t>(request) > base::load_plain(progress::slow_path_reasons) &&
           !is_cr_handle(*request);
}
THENCE_INTERNAL bool is_plain(int count, const MPI_Request requests[]) noexcept;
// The same for a call that may block: while a persistent request has continuations, it must not block inside MPI.
THENCE_INTERNAL bool is_plain_to_wait(int count, const MPI_Request requests[]) noexcept;
// Call it if is_plain() is false. True if persistent requests with continuations are the only reason, and this request
// is not persistent. It reads the handle itself, so the caller need not keep the handle in a register.
inline bool is_plain_beside_persistent(const volatile MPI_Request *request) noexcept {
    if (request == nullptr ||
        progress::slow_path_reasons.load(std::memory_order_relaxed) != progress::persistent_attached) {
        return false;
    }
    const MPI_Request handle = *request;
    return !is_cr_handle(handle) && !engine::may_be_persistent(handle);
}
THENCE_INTERNAL bool any_cr(int count, const MPI_Request requests[]) noexcept;

// True for a CR, for a persistent request that has continuations or whose results a poll of ours has taken, and for a
// generalized request of ours that has failed. Such an entry of an array is tested separately.
THENCE_INTERNAL bool is_special(MPI_Request request) noexcept;
THENCE_INTERNAL bool any_special(int count, const MPI_Request requests[]) noexcept;
// Replaces each such entry by MPI_REQUEST_NULL.
THENCE_INTERNAL void hide_special(int count, MPI_Request requests[]) noexcept;

// True for null and for a CR that is inactive: the any and some forms ignore such entries. A CR that is idle counts as
// active until a completion call has reported it complete.
THENCE_INTERNAL bool is_ignored(MPI_Request request) noexcept;

// As the MPI functions of these names, for requests that are not CRs. test_all() treats CRs as null requests. `by_mpi`:
// what does it for a request that is not special.
THENCE_INTERNAL int test(MPI_Request *request, int *flag, MPI_Status *status, decltype(&PMPI_Test) by_mpi) noexcept;
THENCE_INTERNAL int test_all(int count, MPI_Request requests[], int *flag, MPI_Status statuses[],
                             decltype(&PMPI_Testall) by_mpi) noexcept;
THENCE_INTERNAL int get_status(MPI_Request request, int *flag, MPI_Status *status,
                               decltype(&PMPI_Request_get_status) by_mpi) noexcept;
THENCE_INTERNAL int free(MPI_Request *request, decltype(&PMPI_Request_free) by_mpi) noexcept;
THENCE_INTERNAL int cancel(MPI_Request *request, decltype(&PMPI_Cancel) by_mpi) noexcept;

// For Testall, which completes all or none. It calls cr_is_ready() for each CR first: that runs what may run, reports
// nothing, and returns true if nothing is registered with the CR any more. If all other requests are complete then, it
// calls report_cr_complete() for each CR, which neither waits nor checks again. It returns false if the CR was freed,
// else sets `code` to what a test of it returns.
THENCE_INTERNAL bool cr_is_ready(MPI_Request request) noexcept;
THENCE_INTERNAL bool report_cr_complete(MPI_Request request, MPI_Status *status, int &code) noexcept;

// True if created_persistent() has noted a request, or a persistent request has had a continuation: then started() has
// something to do.
THENCE_INTERNAL bool tracks_persistent() noexcept;
// Called after a persistent request was created or started. At a start some MPIs give it a new handle. If MPI cannot
// tell persistent requests from others, these functions maintain the register of them.
// `bytes`: what each operation transfers, for the report.
THENCE_INTERNAL void created_persistent(MPI_Request request, bool can_be_cancelled, std::int64_t bytes) noexcept;
THENCE_INTERNAL void started(MPI_Request before, MPI_Request after) noexcept;

THENCE_INTERNAL void set_empty(MPI_Status *status) noexcept;
// Reports an error of this class through the error handler. Returns its code, whose text names the call and the reason.
THENCE_INTERNAL int refuse(const char *call, int error_class, const char *why) noexcept;
// A pointer argument of a call, and whether MPI refuses it.
struct pointer_argument {
    const char *name;
    bool refused;
};
// Refuses a call with continuation requests among its requests. The text names the first pointer that is refused.
THENCE_INTERNAL int refuse_null(const char *call, std::initializer_list<pointer_argument> arguments) noexcept;

} // namespace thence::interpose
