// SPDX-License-Identifier: BSD-3-Clause
// How a continuation request looks as an MPI_Request: a value that no MPI hands out, told apart in a few instructions.
//
// CR objects live in one static array, so a handle is good or bad by arithmetic alone:
//  - Open MPI: the object's address plus one. Real handles are aligned pointers, so the low bit tells.
//  - handles of type int (MPICH, Intel MPI): 0x2d000000 plus the index. There 0x2c is MPI_REQUEST_NULL's "invalid kind,
//    request" prefix, and 0x2d differs from it in bits that mean nothing for an invalid kind.
//  - the standard ABI: the object's address; it is our memory, so it can be nobody else's handle.
#pragma once

#include "base/visibility.hpp"

#include <mpi.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace thence::continuation {

class continuation_request;

inline constexpr std::size_t max_crs = 65536;
inline constexpr std::size_t cr_bytes = 256;
extern THENCE_INTERNAL unsigned char cr_arena[max_crs * cr_bytes];

enum class handle_kind { tagged_pointer, integer, pointer };

inline constexpr handle_kind mpi_handles = std::is_integral_v<MPI_Request> ? handle_kind::integer
#if defined(OPEN_MPI)
                                                                           : handle_kind::tagged_pointer;
#else
                                                                           : handle_kind::pointer;
#endif

inline constexpr std::uint32_t integer_prefix = 0x2d000000;

template <class Handle> std::uintptr_t bits(Handle request) noexcept {
    if constexpr (std::is_integral_v<Handle>) {
        return static_cast<std::uint32_t>(request);
    } else {
        return reinterpret_cast<std::uintptr_t>(request);
    }
}

// True for the handle of a CR, live or not. Everything else is MPI's.
inline bool is_cr_handle(MPI_Request request) noexcept {
    if constexpr (mpi_handles == handle_kind::tagged_pointer) {
        return (bits(request) & 1) != 0;
    } else if constexpr (mpi_handles == handle_kind::integer) {
        return (bits(request) & 0xff000000U) == integer_prefix;
    } else {
        return bits(request) - reinterpret_cast<std::uintptr_t>(cr_arena) < sizeof cr_arena;
    }
}

// The same or MPI_REQUEST_NULL. MPICH's integer for that differs from those of CRs in one bit of the prefix, and no
// request has either prefix: one comparison.
template <class Handle = MPI_Request> bool is_cr_or_null(Handle request) noexcept {
    if constexpr (mpi_handles == handle_kind::integer) {
        constexpr Handle null = MPI_REQUEST_NULL;
        static_assert(((static_cast<std::uint32_t>(null) ^ integer_prefix) & 0xfe000000U) == 0);
        return ((bits(request) ^ integer_prefix) & 0xfe000000U) == 0;
    } else {
        return is_cr_handle(request) || request == MPI_REQUEST_NULL;
    }
}

// The object behind the handle of a CR, live or not. Any other handle gives some address.
inline continuation_request *object_of(MPI_Request request) noexcept {
    if constexpr (mpi_handles == handle_kind::integer) {
        return reinterpret_cast<continuation_request *>(cr_arena + (bits(request) - integer_prefix) * cr_bytes);
    } else {
        return reinterpret_cast<continuation_request *>(bits(request) - (mpi_handles == handle_kind::pointer ? 0 : 1));
    }
}

// True if object_of() is the address of an object in the arena.
inline bool names_object(MPI_Request request) noexcept {
    if constexpr (mpi_handles == handle_kind::integer) {
        return bits(request) - integer_prefix < max_crs;
    } else {
        // Rotated, an offset that is no multiple of the size becomes a huge index.
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
        return reinterpret_cast<Handle>(address + (mpi_handles == handle_kind::tagged_pointer ? 1 : 0));
    }
}

// The handle of no CR, nor of anything else: no all-zero variable and no MPI_REQUEST_NULL is taken for it.
template <class Handle = MPI_Request> Handle no_handle() noexcept {
    if constexpr (std::is_integral_v<Handle>) {
        return static_cast<Handle>(~0U);
    } else {
        return reinterpret_cast<Handle>(~std::uintptr_t{0});
    }
}

} // namespace thence::continuation
