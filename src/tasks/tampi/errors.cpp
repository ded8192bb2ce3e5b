// SPDX-License-Identifier: BSD-3-Clause
// The errors of libthence-tampi. The text of a code names the call and the reason.
#include "tasks/tampi/tampi.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>
#include <new>
#include <string>
#include <utility>

namespace thence::tampi {

namespace {

struct error_row {
    int error_class;
    const char *text;
};

error_row row(reason why) noexcept {
    switch (why) {
    case reason::null_pointer:
        return {MPI_ERR_ARG, "the pointer to the result is null"};
    case reason::null_request:
        return {MPI_ERR_ARG, "request is null"};
    case reason::null_requests:
        return {MPI_ERR_ARG, "requests is null and count is not 0"};
    case reason::negative_count:
        return {MPI_ERR_ARG, "count is negative"};
    case reason::no_property:
        return {MPI_ERR_ARG, "there is no such property"};
    case reason::read_only:
        return {MPI_ERR_ARG, "this property is read only"};
    case reason::no_flag:
        return {MPI_ERR_ARG, "the value is neither 0 nor 1"};
    case reason::auto_init_too_late:
        return {MPI_ERR_OTHER, "TAMPI_PROPERTY_AUTO_INIT can be set only before MPI_Init"};
    case reason::mpi_inactive:
        return {MPI_ERR_OTHER, "called before MPI_Init or after MPI_Finalize"};
    case reason::auto_init:
        return {MPI_ERR_OTHER, "TAMPI_PROPERTY_AUTO_INIT is 1, so MPI_Init and MPI_Finalize do it"};
    case reason::started_already:
        return {MPI_ERR_OTHER, "TAMPI_Init was called already"};
    case reason::not_started:
        return {MPI_ERR_OTHER, "TAMPI_Init was not called"};
    default:
        return {MPI_ERR_PENDING, "operations of tasks are outstanding, and the tasks would never end"};
    }
}

bool mpi_is_active() noexcept {
    int initialized = 0;
    int finalized = 0;
    MPI_Initialized(&initialized);
    MPI_Finalized(&finalized);
    return initialized != 0 && finalized == 0;
}

// MPICH 4.0 returns another text for codes of a predefined class. The class itself is the code there.
int make_code(int error_class, const char *text) noexcept {
    int code = error_class;
    int length = 0;
    std::array<char, MPI_MAX_ERROR_STRING + 1> found{};
    if (MPI_Add_error_code(error_class, &code) != MPI_SUCCESS || MPI_Add_error_string(code, text) != MPI_SUCCESS ||
        MPI_Error_string(code, found.data(), &length) != MPI_SUCCESS || std::strcmp(found.data(), text) != 0) {
        std::fprintf(stderr, "thence: %s\n", text); // MPI's own message will not contain it
        return error_class;
    }
    return code;
}

// `text`: without the name of the call.
int fail(const char *call, int error_class, const char *text) noexcept {
    static std::mutex mutex;
    static std::map<std::string, int> codes;
    if (!mpi_is_active()) {
        return error_class;
    }
    int code = error_class;
    try {
        const std::scoped_lock guard(mutex);
        std::string whole = std::string(call) + ": " + text;
        whole.resize(std::min<std::size_t>(whole.size(), MPI_MAX_ERROR_STRING - 1));
        const auto [at, added] = codes.try_emplace(std::move(whole), error_class);
        if (added) {
            at->second = make_code(error_class, at->first.c_str());
        }
        code = at->second;
    } catch (const std::bad_alloc &) { // the class is the code then
    }
    MPI_Comm_call_errhandler(MPI_COMM_WORLD, code);
    return code;
}

} // namespace

int fail(const char *call, reason why) noexcept {
    return fail(call, row(why).error_class, row(why).text);
}

int fail_with_copies(const char *call, int first, int second) noexcept {
    std::array<char, 80> text{};
    std::snprintf(text.data(), text.size(), "requests[%d] and requests[%d] are the same request", first, second);
    return fail(call, MPI_ERR_REQUEST, text.data());
}

} // namespace thence::tampi
