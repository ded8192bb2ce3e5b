// SPDX-License-Identifier: BSD-3-Clause
#include "check.hpp"

#include "options.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace apps {

void fail(int error, const std::source_location &where) {
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0, rank = 0;
    MPI_Error_string(error, text, &length);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const char *slash = std::strrchr(where.file_name(), '/');
    std::fprintf(stderr, "%s: rank %d: %s:%u: %s\n", program_invocation_short_name, rank,
                 slash == nullptr ? where.file_name() : slash + 1, static_cast<unsigned>(where.line()), text);
    MPI_Abort(MPI_COMM_WORLD, failure);
}

} // namespace apps
