// SPDX-License-Identifier: BSD-3-Clause
// The handle of a continuation request (CR): an MPI_Request with a value that MPI never uses.
//
// CR objects live in one static array, so arithmetic alone tells whether a handle names one of them:
//  - handles that are object addresses: the address of the CR plus one, since MPI's own have a low bit of zero;
//  - handles of type int: 0x2d000000 plus the index of the CR. MPI_REQUEST_NULL has the prefix 0x2c, which means
//    "invalid kind, request", and 0x2d differs from it in bits that mean nothing for an invalid kind;
//  - handles of the standard ABI: the address of the CR. The array is our memory, so no other handle has its address.
#pragma once

#include "core/base/visibility.hpp"
#include "core/mpi/handles.hpp"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace thence::continuation {

class continuation_request;

using mpi::bits;
using mpi::handle_kind;
using mpi::request_handles;

inline constexpr std::size_t max_crs = 65536;
inline constexpr std::size_t cr_bytes = 256;
extern THENCE_INTERNAL unsigned char cr_arena[max_crs * cr_bytes];

inline constexpr std::uint32_t integer_prefix = 0x2d000000;

// True for the handle of a CR, live or not. Any other handle belongs to MPI.
inline bool is_cr_handle(MPI_Request request) noexcept {
    if constexpr (request_handles == handle_kind::object_address) {
        return (bits(request) & 1) != 0;
    } else if constexpr (request_handles == handle_kind::integer) {
        return (bits(request) & 0xff000000U) == integer_prefix;
    } else {
        return bits(request) - reinterpret_cast<std::uintptr_t>(cr_arena) < sizeof cr_arena;
    }
}

// True for the handle of a CR and for MPI_REQUEST_NULL. MPICH's MPI_REQUEST_NULL differs from the handles of CRs in one
// bit of the prefix, and no other request has either prefix. So one comparison is enough.
template <class Handle = MPI_Request> bool is_cr_or_null(Handle request) noexcept {
    if constexpr (request_handles == handle_kind::integer) {
        constexpr Handle null = MPI_REQUEST_NULL;
        static_assert(((static_cast<std::uint32_t>(null) ^ integer_prefix) & 0xfe000000U) == 0);
        return ((bits(request) ^ integer_prefix) & 0xfe000000U) == 0;
    } else {
        return is_cr_handle(request) || request == MPI_REQUEST_NULL;
    }
}

// The object that the handle of a CR names, live or not. For any other handle the address is meaningless.
inline continuation_request *object_of(MPI_Request request) noexcept {
    if constexpr (request_handles == handle_kind::integer) {
        return reinterpret_cast<continuation_request *>(cr_arena + (bits(request) - integer_prefix) * cr_bytes);
    } else {
        return reinterpret_cast<continuation_request *>(bits(request) -
                                                        (request_handles == handle_kind::any_pointer ? 0 : 1));
    }
}

// True if object_of() is the address of an object in the arena.
inline bool names_object(MPI_Request request) noexcept {
    if constexpr (request_handles == handle_kind::integer) {
        return bits(request) - integer_prefix < max_crs;
    } else {
        // If the offset is not a multiple of the size, the rotation makes it larger than any index.
        const auto offset =
            reinterpret_cast<std::uintptr_t>(object_of(request)) - reinterpret_cast<std::uintptr_t>(cr_arena);
        return std::rotr(offset, std::countr_zero(cr_bytes)) < max_crs;
    }
}

template <class Handle = MPI_Request> Handle handle_of(const continuation_request *object) noexcept {
    const auto address = reinterpret_cast<std::uintptr_t>(object);
    if constexpr (std::is_integral_v<Handle>) {
        const auto index = (address - reinterpret_cast<std::uintptr_t>(cr_arena)) / cr_bytes;
        return static_cast<Handle>(integer_prefix | index);
    } else {
        return reinterpret_cast<Handle>(address + (request_handles == handle_kind::object_address ? 1 : 0));
    }
}

// The handle in Fortran, whose type is int on every MPI that has one: that of type int above. MPI gives no request this
// number. MPI's own conversion is either a macro that changes nothing (MPICH), or gives an index.
inline int to_fortran(MPI_Request cr) noexcept {
    return handle_of<int>(object_of(cr));
}
inline bool is_fortran_handle(int handle) noexcept {
    return static_cast<std::uint32_t>(handle) - integer_prefix < max_crs;
}
inline MPI_Request from_fortran(int handle) noexcept {
    const std::size_t index = static_cast<std::uint32_t>(handle) - integer_prefix;
    return handle_of(reinterpret_cast<const continuation_request *>(cr_arena + index * cr_bytes));
}

} // namespace thence::continuation
