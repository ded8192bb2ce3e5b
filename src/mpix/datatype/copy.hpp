// SPDX-License-Identifier: BSD-3-Clause
// Copies data between two layouts inside a process, without MPI: one pass over both trees, and no buffer between them.
// As a message would: the bytes of the source in the order of its type map become those of the destination.
#pragma once

#include "mpix/datatype/layout.hpp"

namespace thence::datatype {

struct copied {
    number bytes = 0;
    bool truncated = false; // the source has more
};

// Source and destination must not overlap, and each must be countable().
copied copy(const sequence &source, const sequence &destination) noexcept;

// The same between a layout and `bytes` bytes in a row: a packed message.
inline sequence in_a_row(const void *address, number bytes, node &space) noexcept {
    space.kind = shape::block;
    space.segments = 1;
    space.bytes = bytes;
    return {bytes == 0 ? nullptr : &space, 1, bytes, static_cast<number>(reinterpret_cast<std::uintptr_t>(address))};
}
inline copied pack(const sequence &source, void *to, number room) noexcept {
    node row;
    return copy(source, in_a_row(to, room, row));
}
inline copied unpack(const void *from, number bytes, const sequence &destination) noexcept {
    node row;
    return copy(in_a_row(from, bytes, row), destination);
}

} // namespace thence::datatype
