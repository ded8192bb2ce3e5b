// SPDX-License-Identifier: BSD-3-Clause
// Attaching one callback to each of many operations: checks the arguments once for all of them.
#include <thence/thence.h>

#include "core/api/checks.hpp"
#include "core/continuation/attach_each.hpp"

using namespace thence;
using api::fail;
using api::public_call;
namespace reason = api::reason;
using continuation::continuation_request;

extern "C" int thence_attach_each(int count, MPI_Request requests[], thence_each_callback *callback, void *data,
                                  unsigned flags, MPI_Status statuses[], MPI_Request cr, int *outcount, int indices[]) {
    static constexpr public_call call{"thence_attach_each"};
    continuation_request *object = continuation_request::of_handle(cr);
    if (object == nullptr) {
        return fail(call, api::why_not_live(cr));
    }
    const continuation::user_callback each{reinterpret_cast<continuation::any_function>(callback), data};
    if (const std::optional<api::failure> why = api::wrong(count, requests, each, flags, *object)) {
        return fail(call, *why);
    }
    if ((outcount == nullptr || (indices == nullptr && count > 0)) && !api::never_at_once(flags, *object)) {
        return fail(
            call,
            outcount == nullptr
                ? api::failure{MPI_ERR_ARG, "outcount is null without THENCE_CR_ENQUEUE_COMPLETE or THENCE_MAY_RUN"}
                : api::failure{MPI_ERR_ARG, "indices is null without THENCE_CR_ENQUEUE_COMPLETE or THENCE_MAY_RUN"});
    }
    const int code = continuation::attach_each(count, requests, each, flags, __builtin_return_address(0), statuses,
                                               *object, outcount, indices);
    return code != continuation::out_of_memory ? code : fail(call, reason::no_memory);
}
