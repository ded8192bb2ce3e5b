// SPDX-License-Identifier: BSD-3-Clause
#include "core/mpi/error_code.hpp"

#include "core/mpi/calls.hpp"

#include <charconv>
#include <cstdio>
#include <exception>
#include <map>
#include <mutex>
#include <string_view>

namespace thence::mpi {

namespace {

std::mutex mutex;
std::map<std::string, int, std::less<>> &codes() {
    static auto *const all = new std::map<std::string, int, std::less<>>; // threads may fail while the process ends
    return *all;
}

// True if MPI_Error_string returns the text that was set for a code. MPICH 4.0 returns another text for codes of a
// predefined class.
bool has_text(int code, std::string_view text) noexcept {
    char found[MPI_MAX_ERROR_STRING + 1];
    int length = 0;
    return table.Error_string(code, found, &length) == MPI_SUCCESS &&
           std::string_view(found, static_cast<std::size_t>(length)) == text;
}

int make(int error_class, const std::string &text) noexcept {
    int code = error_class;
    char *const unchanged = const_cast<char *>(text.c_str()); // SimGrid's SMPI takes a char *
    if (table.Add_error_code(error_class, &code) != MPI_SUCCESS ||
        table.Add_error_string(code, unchanged) != MPI_SUCCESS || !has_text(code, text)) {
        return error_class;
    }
    return code;
}

bool errors_are_fatal(MPI_Comm comm) noexcept {
    MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
    table.Comm_get_errhandler(comm, &handler);
    const bool fatal = handler == MPI_ERRORS_ARE_FATAL;
    if (handler != MPI_ERRHANDLER_NULL) {
        table.Errhandler_free(&handler);
    }
    return fatal;
}

int code_of(int error_class, const std::string &text) noexcept {
    const std::scoped_lock guard(mutex);
    try {
        const auto [at, added] = codes().try_emplace(text.substr(0, MPI_MAX_ERROR_STRING - 1), error_class);
        if (added) {
            at->second = make(error_class, at->first);
        }
        return at->second;
    } catch (const std::exception &) { // no memory
        return error_class;
    }
}

} // namespace

namespace {

int report_through(MPI_Comm comm, int error_class, const std::string &text) noexcept {
    if (!usable()) {
        return error_class;
    }
    const int code = code_of(error_class, text);
    if (code == error_class && errors_are_fatal(comm)) {
        std::fprintf(stderr, "thence: %s\n", text.c_str()); // MPI's own message will not contain the text
    }
    table.Comm_call_errhandler(comm, code);
    return code;
}

} // namespace

int report(int error_class, const std::string &text) noexcept {
    return report_through(MPI_COMM_WORLD, error_class, text);
}

int report_on(MPI_Comm comm, const char *call, const failure &why) noexcept {
    const MPI_Comm handler_of = comm != MPI_COMM_NULL ? comm : MPI_COMM_WORLD;
    try {
        return report_through(handler_of, why.error_class, std::string(call).append(": ").append(why.text));
    } catch (const std::exception &) { // no memory
        table.Comm_call_errhandler(handler_of, why.error_class);
        return why.error_class;
    }
}

int code_of_function(int code) noexcept {
    int error_class = MPI_SUCCESS;
    char text[MPI_MAX_ERROR_STRING + 1];
    int length = 0;
    if (table.Error_class(code, &error_class) != MPI_SUCCESS || error_class != MPI_ERR_OTHER ||
        table.Error_string(code, text, &length) != MPI_SUCCESS) {
        return code;
    }
    constexpr std::string_view before = "function returned error code ";
    const std::string_view says(text, static_cast<std::size_t>(length));
    const std::size_t at = says.find(before);
    if (at == says.npos) {
        return code;
    }
    int returned = MPI_SUCCESS;
    const auto [end, error] = std::from_chars(says.data() + at + before.size(), says.data() + says.size(), returned);
    return error == std::errc() && returned != MPI_SUCCESS ? returned : code;
}

void forget_error_codes() noexcept {
    const std::scoped_lock guard(mutex);
    codes().clear();
}

} // namespace thence::mpi
