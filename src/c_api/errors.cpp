// SPDX-License-Identifier: BSD-3-Clause
#include "c_api/errors.hpp"

#include "mpi/calls.hpp"
#include "mpi/error_code.hpp"

#include <mpi.h>

#include <array>
#include <cstddef>
#include <exception>
#include <string>

namespace thence::c_api {

namespace {

constexpr std::size_t count = static_cast<std::size_t>(reason::count_);

constexpr std::array<error_row, count> rows = {{
    {reason::null_cr, MPI_ERR_ARG, "the pointer to the continuation request is null"},
    {reason::no_live_cr, MPI_ERR_REQUEST,
     "no live continuation request: it was freed, or is MPI_REQUEST_NULL or a request of MPI's own"},
    {reason::started_already, MPI_ERR_REQUEST, "the continuation request is started already"},
    {reason::unknown_cr_flags, MPI_ERR_ARG, "flags has bits that are no option of a continuation request"},
    {reason::max_poll_too_small, MPI_ERR_ARG, "max_poll is below -1"},
    {reason::forum_max_poll_negative, MPI_ERR_ARG, "max_poll is negative and not MPI_UNDEFINED"},
    {reason::bad_info, MPI_ERR_INFO_VALUE,
     "info has a value that its key does not take, or max_poll is 0 together with poll-only: nothing could ever run"},
    {reason::too_many_crs, MPI_ERR_NO_MEM, "65536 continuation requests exist"},
    {reason::no_helper, MPI_ERR_UNSUPPORTED_OPERATION,
     "THENCE_CR_ANY_THREAD needs the library's own thread, which cannot run here"},
    {reason::mpi_inactive, MPI_ERR_OTHER, "called before MPI_Init or after MPI_Finalize"},
    {reason::negative_count, MPI_ERR_ARG, "count is negative"},
    {reason::null_requests, MPI_ERR_ARG, "requests is null"},
    {reason::null_callback, MPI_ERR_ARG, "callback is null"},
    {reason::null_flag_of_attach, MPI_ERR_ARG, "flag is null without THENCE_CR_ENQUEUE_COMPLETE or THENCE_MAY_RUN"},
    {reason::unknown_flags, MPI_ERR_ARG, "flags has bits that are no option of a continuation"},
    {reason::cr_among_requests, MPI_ERR_REQUEST, "the continuation request is itself among the requests"},
    {reason::freed_cr_among_requests, MPI_ERR_REQUEST, "a continuation request among the requests was freed"},
    {reason::null_flag, MPI_ERR_ARG, "flag is null"},
    {reason::null_request, MPI_ERR_ARG, "request is null"},
    {reason::waits_for_itself, MPI_ERR_PENDING,
     "called inside a callback, and only the return of that callback lets the remaining continuations run"},
    {reason::null_count, MPI_ERR_ARG, "count is null"},
    {reason::negative_capacity, MPI_ERR_ARG, "the capacity in count is negative"},
    {reason::null_data, MPI_ERR_ARG, "data is null although the capacity in count is not 0"},
    {reason::null_info, MPI_ERR_ARG, "info is null"},
    {reason::size_too_small, MPI_ERR_ARG, "size is smaller than the first version of the struct: pass its sizeof"},
}};

constexpr bool in_order() {
    for (std::size_t i = 0; i < count; ++i) {
        if (rows[i].why != static_cast<reason>(i)) {
            return false;
        }
    }
    return true;
}
static_assert(in_order());

} // namespace

const error_row &row(reason why) noexcept {
    return rows[static_cast<std::size_t>(why)];
}

int fail(const char *call, reason why) noexcept {
    const error_row &what = row(why);
    try {
        return mpi::report(what.error_class, std::string(call) + ": " + what.text);
    } catch (const std::exception &) { // no memory
        return mpi::report(what.error_class);
    }
}

} // namespace thence::c_api
