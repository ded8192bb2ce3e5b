// SPDX-License-Identifier: BSD-3-Clause
// What the library's own API and its facades share: checked entry points that report errors as MPI does.
#pragma once

#include "base/peek.hpp"
#include "c_api/errors.hpp"
#include "continuation/attach.hpp"
#include "progress/progress.hpp"

namespace thence::c_api {

// `call`: the public function, for errors. `fixed`: options that no info key changes.
int create(const char *call, unsigned flags, int max_poll, MPI_Info info, MPI_Request *cr, unsigned fixed = 0);
// Anything, with all checks.
int attach(const char *call, int count, MPI_Request requests[], const continuation::attachment &what,
           MPI_Status statuses[], MPI_Request cr, int *flag) noexcept;
// The end of attach_one() when MPI refused to push the operation.
int attach_refused(MPI_Request *request, int *flag) noexcept;
// The ends of attach_polled() where more is to do than to note the operation, and where that is complete.
int finish_polled(continuation::continuation &c, int *flag, bool may_run) noexcept;
int complete_at_once(continuation::continuation &c, int *flag, bool may_run) noexcept;
int wake_up() noexcept;

[[gnu::always_inline]] inline int attached(int *flag) noexcept {
    *flag = 0;
    if (!base::peek(progress::ready)) [[unlikely]] { // after the read-modify-writes that registered
        return wake_up();
    }
    return MPI_SUCCESS;
}

// One operation, if the arguments are good and it is a common one: the ways for an engine that MPI pushes to and for
// one that looks, inline in the functions that the user calls. Else these call `otherwise`, with all that is needed to
// do the work from the start. It is the last thing that happens then, so nothing need be saved for it. Each argument
// is checked by itself, in both: from || or a function for the three GCC makes sums of comparisons, two instructions
// more.
template <class Otherwise>
[[gnu::always_inline]] inline int attach_polled(MPI_Request *request, const continuation::attachment &what,
                                                MPI_Status *status, continuation::continuation_request &object,
                                                int *flag, Otherwise otherwise) noexcept {
    if (!object.polls()) [[unlikely]] {
        return otherwise();
    }
    if (request == nullptr) [[unlikely]] {
        return otherwise();
    }
    if (what.callback == nullptr) [[unlikely]] {
        return otherwise();
    }
    if (flag == nullptr) [[unlikely]] {
        return otherwise();
    }
    continuation::continuation *begun = nullptr;
    switch (continuation::attach_polled(*request, what, status, object, begun)) {
    case continuation::single_result::attached:
        return attached(flag);
    case continuation::single_result::refused:
        return finish_polled(*begun, flag, (what.flags & THENCE_MAY_RUN) != 0);
    case continuation::single_result::complete:
        return complete_at_once(*begun, flag, (what.flags & THENCE_MAY_RUN) != 0);
    default:
        return otherwise();
    }
}

// `polled`: calls the above.
template <class Polled, class Otherwise>
[[gnu::always_inline]] inline int attach_one(MPI_Request *request, const continuation::attachment &what,
                                             MPI_Status *status, MPI_Request cr, int *flag, Polled polled,
                                             Otherwise otherwise) noexcept {
    using continuation::single_result;
    if (!continuation::names_object(cr)) [[unlikely]] {
        return otherwise();
    }
    continuation::continuation_request &object = *continuation::object_of(cr);
    if (!object.pushes()) [[unlikely]] {
        return polled(object);
    }
    if (request == nullptr) [[unlikely]] {
        return otherwise();
    }
    if (what.callback == nullptr) [[unlikely]] {
        return otherwise();
    }
    if (flag == nullptr) [[unlikely]] {
        return otherwise();
    }
    const single_result result = continuation::attach_pushed(*request, what, status, object);
    if (result == single_result::not_tried) [[unlikely]] {
        return otherwise();
    }
    if (result == single_result::refused) [[unlikely]] {
        return attach_refused(request, flag);
    }
    return attached(flag);
}

} // namespace thence::c_api
