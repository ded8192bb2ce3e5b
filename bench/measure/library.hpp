// SPDX-License-Identifier: BSD-3-Clause
// What the MPI is, for what differs between MPIs.
#pragma once

#include <mpi.h>

#include <array>
#include <string>

namespace measure {

// The text of MPI_Get_library_version.
inline std::string library_version() {
    std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
    int length = 0;
    MPI_Get_library_version(text.data(), &length);
    return text.data();
}

} // namespace measure
