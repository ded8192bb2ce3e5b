// SPDX-License-Identifier: BSD-3-Clause
// The data of a message: what a buffer, a count and a datatype describe, and copying between two such descriptions: by
// memcpy where the data lie in a row, else in one pass over both layouts (datatype/copy.hpp).
#pragma once

#include "mpix/datatype/layout.hpp"

#include <mpi.h>

#include <cstdint>

namespace thence::messages {

struct buffer {
    // As the user gave them.
    void *base = nullptr;
    MPI_Count count = 0;
    MPI_Datatype type = MPI_BYTE;

    std::uint64_t bytes = 0;                  // of the data, without gaps
    void *row = nullptr;                      // where they are, if they lie in a row; else null
    const datatype::layout *layout = nullptr; // if they do not. Valid as long as the datatype
    bool contiguous() const noexcept { return layout == nullptr; }
};

// Describes the buffer of a call. Returns an error class: MPI_ERR_COUNT, MPI_ERR_TYPE or MPI_SUCCESS.
int describe(const void *base, MPI_Count count, MPI_Datatype type, buffer &result) noexcept;

inline buffer bytes_at(const void *base, std::uint64_t bytes) noexcept {
    void *const row = const_cast<void *>(base);
    return {row, static_cast<MPI_Count>(bytes), MPI_BYTE, bytes, row, nullptr};
}

// They copy the first `bytes` bytes of the data; both sides have so many.
void copy_out(const buffer &from, void *to, std::uint64_t bytes) noexcept;
void copy_in(const void *from, const buffer &to, std::uint64_t bytes) noexcept;
void copy(const buffer &from, const buffer &to, std::uint64_t bytes) noexcept;

} // namespace thence::messages
