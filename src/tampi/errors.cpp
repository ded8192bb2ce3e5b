// SPDX-License-Identifier: BSD-3-Clause
// The errors of libthence-tampi. The text of a code names the call and the reason.
#include "tampi/library.hpp"

#include <array>
#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>
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

} // namespace

int fail(const char *call, reason why) noexcept {
    static std::mutex mutex;
    static std::map<std::pair<const char *, reason>, int> codes;
    const error_row what = row(why);
    if (!mpi_is_active()) {
        return what.error_class;
    }
    int code = what.error_class;
    {
        const std::scoped_lock guard(mutex);
        const auto [at, added] = codes.try_emplace({call, why}, code);
        if (added) {
            std::array<char, MPI_MAX_ERROR_STRING> text{};
            std::snprintf(text.data(), text.size(), "%s: %s", call, what.text);
            at->second = make_code(code, text.data());
        }
        code = at->second;
    }
    MPI_Comm_call_errhandler(MPI_COMM_WORLD, code);
    return code;
}

} // namespace thence::tampi
