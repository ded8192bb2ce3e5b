// SPDX-License-Identifier: BSD-3-Clause
// Entry points that the library's own API and the two MPIX APIs share. They check arguments and report errors as MPI
// does.
#pragma once

#include "c_api/errors.hpp"
#include "continuation/attach.hpp"

#include <thence/thence.h>

namespace thence::c_api {

// Creates a CR. `call`: the name of the public function, for errors. `fixed`: options that no info key changes.
int create(const char *call, unsigned flags, int max_poll, MPI_Info info, MPI_Request *cr, unsigned fixed = 0);

// Checks the arguments of thence_attach(), then attaches. `call`: the public function, for errors.
int attach(const char *call, int count, MPI_Request requests[], continuation::user_callback callback,
           continuation::attach_options how, MPI_Status statuses[], MPI_Request cr, int *flag) noexcept;

// The same for the common case, inline in the functions that the user calls. In any other case it changes nothing and
// returns the result of `otherwise`, a function with the arguments of its caller. GCC makes that call a jump, so the
// return address that `otherwise` sees is in the user's code. Each check is an `if` of its own: GCC 12 evaluates
// comparisons that are joined by && without branches, all of them each time.
template <class Otherwise>
[[gnu::always_inline]] inline int attach_common(MPI_Request *request, continuation::user_callback callback,
                                                continuation::attach_options how, MPI_Status *status, MPI_Request cr,
                                                int *flag, Otherwise otherwise) noexcept {
    if (!continuation::continuation_request::is_live(cr)) [[unlikely]] {
        return otherwise();
    }
    continuation::continuation_request &object = *continuation::object_of(cr);
    if (request == nullptr) [[unlikely]] {
        return otherwise();
    }
    if (callback.function == nullptr) [[unlikely]] {
        return otherwise();
    }
    if (flag == nullptr) [[unlikely]] {
        return otherwise();
    }
    if (!continuation::can_attach_single(*request, object)) [[unlikely]] {
        return otherwise();
    }
    return continuation::attach_single(*request, callback, how, status, object, flag);
}

} // namespace thence::c_api
