// SPDX-License-Identifier: BSD-3-Clause
// What the library's own API and its facades share: checked entry points that report errors as MPI does.
#pragma once

#include "c_api/errors.hpp"
#include "continuation/attach.hpp"

#include <thence/thence.h>

namespace thence::c_api {

// `call`: the public function, for errors. `fixed`: options that no info key changes.
int create(const char *call, unsigned flags, int max_poll, MPI_Info info, MPI_Request *cr, unsigned fixed = 0);

// As attach(), below, without the common cases.
int attach_any(const char *call, int count, MPI_Request requests[], continuation::user_callback callback,
               continuation::attach_options how, MPI_Status statuses[], MPI_Request cr, int *flag) noexcept;

// Checks the arguments of thence_attach(), then attaches. What the common cases need is inline in the functions that
// the user calls: that saves about 80 instructions per continuation. One check is one `if`, since GCC 12 adds up
// comparisons that are joined by &&.
[[gnu::always_inline]] inline int attach(const char *call, int count, MPI_Request requests[],
                                         continuation::user_callback callback, continuation::attach_options how,
                                         MPI_Status statuses[], MPI_Request cr, int *flag) noexcept {
    const auto any = [&] { return attach_any(call, count, requests, callback, how, statuses, cr, flag); };
    if (!continuation::continuation_request::is_live(cr)) [[unlikely]] {
        return any();
    }
    continuation::continuation_request *object = continuation::object_of(cr);
    if (count != 1 || requests == nullptr) [[unlikely]] {
        return any();
    }
    if (callback.function == nullptr) [[unlikely]] {
        return any();
    }
    if (flag == nullptr) [[unlikely]] {
        return any();
    }
    if (how.has(~static_cast<unsigned>(THENCE_MAY_RUN | THENCE_INVOKE_FAILED))) [[unlikely]] {
        return any();
    }
    if (continuation::is_cr_handle(*requests)) [[unlikely]] {
        return any();
    }
    if (continuation::can_attach_pushed(*requests, *object)) [[likely]] {
        return continuation::attach_pushed(*requests, callback, how, statuses, *object, flag);
    }
    return continuation::attach_one(*requests, callback, how, statuses, *object, flag);
}

} // namespace thence::c_api
