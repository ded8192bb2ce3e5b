// SPDX-License-Identifier: BSD-3-Clause
// What the library's own API and its facades share: checked entry points that report errors as MPI does.
#pragma once

#include "continuation/attach.hpp"
#include "mpi/calls.hpp"

namespace thence::c_api {

inline int fail(int code) noexcept {
    return mpi::report(code);
}

int create(unsigned flags, int max_poll, MPI_Info info, MPI_Request *cr);
int attach_checked(int count, MPI_Request requests[], const continuation::attachment &what, MPI_Status statuses[],
                   MPI_Request cr, int *flag) noexcept;

// Good arguments and a pending operation, first; everything else out of line.
[[gnu::always_inline]] inline int attach(int count, MPI_Request requests[], const continuation::attachment &what,
                                         MPI_Status statuses[], MPI_Request cr, int *flag) noexcept {
    constexpr unsigned plain = THENCE_MAY_RUN | THENCE_INVOKE_FAILED;
    continuation::continuation_request *object = continuation::continuation_request::from(cr);
    if (count == 1 && object != nullptr && requests != nullptr && what.callback != nullptr && flag != nullptr &&
        (what.flags & ~plain) == 0 && continuation::attach_pushed(requests[0], what, statuses, *object)) [[likely]] {
        *flag = 0;
        return MPI_SUCCESS;
    }
    return attach_checked(count, requests, what, statuses, cr, flag);
}

} // namespace thence::c_api
