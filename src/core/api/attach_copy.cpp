// SPDX-License-Identifier: BSD-3-Clause
// Attaching with data that the library owns: it copies them first, and releases the copy if no continuation takes it.
#include <thence/thence.h>

#include "core/api/checks.hpp"
#include "core/continuation/owned_data.hpp"

using namespace thence;
using api::fail;
using api::public_call;
namespace reason = api::reason;
using continuation::signature;

extern "C" int thence_attach_copy(int count, MPI_Request requests[], thence_callback *callback, const void *data,
                                  size_t size, unsigned flags, MPI_Status statuses[], MPI_Request cr, int *flag) {
    static constexpr public_call call{"thence_attach_copy"};
    if (data == nullptr && size != 0) {
        return fail(call, reason::null_data_to_copy);
    }
    void *copy = size != 0 ? continuation::copy_data(data, size) : nullptr;
    if (copy == nullptr && size != 0) {
        return fail(call, reason::no_memory);
    }
    const continuation::user_callback mine{reinterpret_cast<continuation::any_function>(callback), copy};
    const continuation::attach_options how{flags, copy != nullptr ? signature::own_with_copied_data : signature::own,
                                           __builtin_return_address(0)};
    constexpr int not_attached = -1;
    int at_once = not_attached;
    const int error = api::attach(call, count, requests, mine, how, statuses, cr, flag != nullptr ? &at_once : nullptr);
    const bool taken = flag != nullptr ? at_once == 0 : error == MPI_SUCCESS;
    if (!taken && copy != nullptr) {
        continuation::release_data(copy);
    }
    if (flag != nullptr && at_once != not_attached) {
        *flag = at_once;
    }
    return error;
}
