// SPDX-License-Identifier: BSD-3-Clause
// Entry points that the library's own API and the two MPIX APIs share. They check arguments and report errors as MPI
// does.
#pragma once

#include "c_api/errors.hpp"
#include "continuation/attach.hpp"

#include <thence/thence.h>

#include <optional>

namespace thence::c_api {

// Creates a CR. `call`: the name of the public function, for errors. `fixed`: options that no info key changes.
int create(const char *call, unsigned flags, int max_poll, MPI_Info info, MPI_Request *cr, unsigned fixed = 0);

// What is wrong with the arguments that all attaching calls have.
std::optional<reason> wrong(int count, const MPI_Request requests[], continuation::user_callback callback,
                            unsigned flags, const continuation::continuation_request &cr) noexcept;
// True if an attaching call never reports that operations were complete at once.
inline bool never_at_once(unsigned flags, const continuation::continuation_request &cr) noexcept {
    return (flags & THENCE_MAY_RUN) != 0 || cr.has(THENCE_CR_ENQUEUE_COMPLETE);
}

// Checks the arguments of thence_attach(), then attaches. `call`: the public function, for errors.
int attach(const char *call, int count, MPI_Request requests[], continuation::user_callback callback,
           continuation::attach_options how, MPI_Status statuses[], MPI_Request cr, int *flag) noexcept;

} // namespace thence::c_api
