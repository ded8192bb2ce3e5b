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
// Everything else, with all checks. `refused`: attach_single() was, just before.
int attach(int count, MPI_Request requests[], const continuation::attachment &what, MPI_Status statuses[],
           MPI_Request cr, int *flag, bool refused = false) noexcept;
int wake_up() noexcept;

// Good arguments and one operation that MPI can push, inline. Else `otherwise` is called with all that is needed to do
// the work from the start; it is the last thing that happens here, so nothing need be saved for it.
template <class Otherwise>
[[gnu::always_inline]] inline int attach_one(MPI_Request *request, const continuation::attachment &what,
                                             MPI_Status *status, MPI_Request cr, int *flag,
                                             Otherwise otherwise) noexcept {
    using continuation::single_result;
    continuation::continuation_request *object = continuation::continuation_request::pushing_from(cr);
    if (object == nullptr) [[unlikely]] {
        return otherwise(false);
    }
    if (request == nullptr) [[unlikely]] {
        return otherwise(false);
    }
    if (what.callback == nullptr) [[unlikely]] {
        return otherwise(false);
    }
    if (flag == nullptr) [[unlikely]] {
        return otherwise(false);
    }
    const single_result result = continuation::attach_single(*request, what, status, *object);
    if (result != single_result::attached) [[unlikely]] {
        return otherwise(result == single_result::refused);
    }
    *flag = 0;
    if (!progress::ready.load(std::memory_order_seq_cst)) [[unlikely]] {
        return wake_up();
    }
    return MPI_SUCCESS;
}

} // namespace thence::c_api
