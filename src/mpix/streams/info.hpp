// SPDX-License-Identifier: BSD-3-Clause
// What streams read from an info, and the hexadecimal text of bytes in it.
//
// The text has two digits for each byte. A run of two or more zero bytes is its length in brackets: `3412[6]`.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <string>
#include <string_view>

namespace thence::streams {

std::string to_hex(const void *bytes, std::size_t size);
// False if it is no such text of exactly `size` bytes.
bool from_hex(std::string_view text, void *bytes, std::size_t size) noexcept;

// The keys that begin with `mpi_assert_`, in a new info; MPI_INFO_NULL without any.
int copy_assertions(MPI_Info info, MPI_Info &copy);

} // namespace thence::streams
