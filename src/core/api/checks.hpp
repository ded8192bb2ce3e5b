// SPDX-License-Identifier: BSD-3-Clause
// Entry points that the library's own API and the two MPIX APIs share. They check arguments and report errors as MPI
// does.
#pragma once

#include "core/api/errors.hpp"
#include "core/continuation/attach.hpp"
#include "core/continuation/lifetime.hpp"
#include "core/progress/plain_operations.hpp"

#include <thence/thence.h>

#include <optional>

namespace thence::api {

// Sets the library up if that has not been done. If it cannot be, it reports the error and returns its code. From here
// on the program uses Thence itself, so its operations without continuations are not counted any more.
inline int set_up(const public_call &call) noexcept {
    if (progress::observes_unchanged_program()) [[unlikely]] {
        progress::program_uses_thence();
    }
    switch (continuation::set_up()) {
    case continuation::setting_up::done:
        return MPI_SUCCESS;
    case continuation::setting_up::no_source_left:
        return fail(call, reason::too_many_sources);
    case continuation::setting_up::library_has_ended:
        return fail(call, reason::library_has_ended);
    default:
        return fail(call, reason::mpi_inactive);
    }
}

// Creates a CR. `call`: for errors. `fixed`: options that no info key changes.
int create(const public_call &call, unsigned flags, int max_poll, MPI_Info info, MPI_Request *cr, unsigned fixed = 0);

// What is wrong with the arguments that all attaching calls have.
std::optional<failure> wrong(int count, const MPI_Request requests[], continuation::user_callback callback,
                             unsigned flags, const continuation::continuation_request &cr) noexcept;
// True if an attaching call never reports that operations were complete at once.
inline bool never_at_once(unsigned flags, const continuation::continuation_request &cr) noexcept {
    return (flags & THENCE_MAY_RUN) != 0 || cr.has(THENCE_CR_ENQUEUE_COMPLETE);
}

// What is wrong with a CR that is not live.
inline failure why_not_live(MPI_Request cr) noexcept {
    return continuation::is_cr_handle(cr)
               ? reason::freed_cr
               : failure{MPI_ERR_REQUEST,
                         "{cr} is no continuation request, but MPI_REQUEST_NULL or a request of MPI's own"};
}

// Checks the arguments of thence_attach(), then attaches. `call`: for errors.
int attach(const public_call &call, int count, MPI_Request requests[], continuation::user_callback callback,
           continuation::attach_options how, MPI_Status statuses[], MPI_Request cr, int *flag) noexcept;

} // namespace thence::api
