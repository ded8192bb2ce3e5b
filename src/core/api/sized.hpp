// SPDX-License-Identifier: BSD-3-Clause
// Structs of the C API that may get new members at their end. The caller passes the size of the struct that it knows.
// Invariant: no byte beyond that size is written, and the first member of the struct says how many bytes were.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <type_traits>

namespace thence::api {

// The size of the struct that ends with this member.
#define THENCE_SIZE_UP_TO(type, member) (offsetof(type, member) + sizeof(type::member))

// Copies `facts` into the caller's struct, which has `size` bytes. Their struct may be older than ours and shorter, or
// newer and longer.
template <class Facts> void copy_sized(Facts facts, void *to, std::size_t size) noexcept {
    static_assert(std::is_trivially_copyable_v<Facts> && std::is_standard_layout_v<Facts>);
    static_assert(offsetof(Facts, size) == 0);
    facts.size = std::min(size, sizeof facts);
    std::memcpy(to, &facts, facts.size);
}

} // namespace thence::api
