// SPDX-License-Identifier: BSD-3-Clause
// The errors of the C API. The class and text of each lie where a call detects it. A call returns an MPI
// error code of the class that thence.h documents. The text of the code names the call, the arguments and the reason as
// the user wrote them: several calls do the same under names of their own (the MPIX calls, MPI's calls on a
// continuation request).
#pragma once

#include "core/base/visibility.hpp"
#include "core/mpi/error_code.hpp"

#include <span>

namespace thence::api {

// {NAME} in the text is a name of thence.h, for which a call may have another.
using mpi::failure;

// An argument whose name in this call is not its name in thence.h.
struct renamed_argument {
    const char *in_thence_h;
    const char *name;
};

// The call that the user wrote.
struct public_call {
    constexpr public_call(const char *function_name, std::span<const renamed_argument> arguments = {},
                          int of_array = -1) noexcept
        : name(function_name), renamed(arguments), index(of_array) {}

    const char *name;
    std::span<const renamed_argument> renamed;
    int index; // which entry of an array the continuation request is; -1: it is an argument of its own
};

// Reports the error through the error handler of MPI_COMM_WORLD and returns its code.
THENCE_INTERNAL int fail(const public_call &call, const failure &why) noexcept;
// The same, and the text names `subject` before the reason.
int fail(const public_call &call, const char *subject, const failure &why) noexcept;
// The same, and the text names `detail` after the reason.
int fail_with_detail(const public_call &call, const failure &why, const char *detail) noexcept;

} // namespace thence::api

// Of several features. The others lie beside their feature, in this namespace too.
namespace thence::api::reason {

inline constexpr failure null_cr{MPI_ERR_ARG, "{cr} is null"};
inline constexpr failure freed_cr{MPI_ERR_REQUEST, "{cr} is a continuation request that was freed"};
inline constexpr failure unknown_cr_flags{MPI_ERR_ARG, "flags has bits that are no option of a continuation request"};
inline constexpr failure mpi_inactive{MPI_ERR_OTHER, "called before MPI_Init or after MPI_Finalize"};
inline constexpr failure library_has_ended{
    MPI_ERR_OTHER,
    "called in MPI_Finalize, in the delete callback of an attribute of MPI_COMM_SELF that was set before Thence's: "
    "link "
    "libthence (-lthence), whose MPI_Init sets it first, or call thence_query before setting the attribute"};
inline constexpr failure too_many_sources{MPI_ERR_OTHER, "8 sources of progress are registered already"};
inline constexpr failure negative_count{MPI_ERR_ARG, "count is negative"};
inline constexpr failure null_requests{MPI_ERR_ARG, "{requests} is null"};
inline constexpr failure null_data_to_copy{MPI_ERR_ARG, "data is null although size is not 0"};
inline constexpr failure unknown_flags{MPI_ERR_ARG, "flags has bits that are no option of a continuation"};
inline constexpr failure null_flag{MPI_ERR_ARG, "flag is null"};
inline constexpr failure null_request{MPI_ERR_ARG, "request is null"};
inline constexpr failure null_count{MPI_ERR_ARG, "count is null"};
inline constexpr failure null_comm{MPI_ERR_COMM, "comm is MPI_COMM_NULL"};
inline constexpr failure intercommunicator{MPI_ERR_COMM, "comm is an intercommunicator"};
inline constexpr failure null_info{MPI_ERR_ARG, "info is null"};
inline constexpr failure size_too_small{MPI_ERR_ARG,
                                        "size is smaller than the first version of the struct: pass its sizeof"};
inline constexpr failure negative_index{MPI_ERR_ARG, "index is negative"};
inline constexpr failure not_interposed{MPI_ERR_UNSUPPORTED_OPERATION, "MPI's calls do not come to libthence"};
inline constexpr failure no_memory{MPI_ERR_NO_MEM, "memory is exhausted; nothing has changed"};
inline constexpr failure out_of_memory{MPI_ERR_NO_MEM, "memory is exhausted"}; // where something may have changed
inline constexpr failure count_too_large{MPI_ERR_COUNT, "count does not fit an int, and this MPI has no large counts"};

} // namespace thence::api::reason
