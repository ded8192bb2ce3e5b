// SPDX-License-Identifier: BSD-3-Clause
// The origin of a continuation: the code address of the attaching call. Of a continuation that thence_attach_each()
// attached it is also the index of the operation: both take the room of one pointer. Each such call site has a number.
//
// The top bit says which of the two it is: the addresses of a program's code have it clear. An origin has the type of
// such an address. With a class in its place GCC 12 uses two instructions more per continuation.
#pragma once

#include <cstdint>

namespace thence::continuation {

using origin = const void *;

static_assert(sizeof(origin) == sizeof(std::uint64_t));
inline constexpr std::uint64_t origin_has_index = std::uint64_t{1} << 63;

// The number of a call site: the same for the same address, 0 if too many call sites exist.
std::uint32_t site_of(const void *code) noexcept;

inline origin origin_at(std::uint32_t site, int index) noexcept {
    return reinterpret_cast<origin>(origin_has_index | std::uint64_t{site} << 32 | static_cast<std::uint32_t>(index));
}

// The code address; null if it is not known.
const void *code_of(origin from) noexcept;
// Only of an origin that has an index.
inline int index_of(origin from) noexcept {
    return static_cast<int>(reinterpret_cast<std::uintptr_t>(from));
}

} // namespace thence::continuation
