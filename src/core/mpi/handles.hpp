// SPDX-License-Identifier: BSD-3-Clause
// The representation of request handles in this MPI, from which our own handles must differ.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <type_traits>

namespace thence::mpi {

enum class handle_kind {
    object_address, // Open MPI: the address of an aligned object, so the low bit is always zero
    integer,        // MPICH and Intel MPI: an int whose upper byte tells the kind of object
    any_pointer     // the standard ABI: a pointer-sized value without known structure
};

inline constexpr handle_kind request_handles = std::is_integral_v<MPI_Request> ? handle_kind::integer
#if defined(OPEN_MPI)
                                                                               : handle_kind::object_address;
#else
                                                                               : handle_kind::any_pointer;
#endif

// The bits of a handle, as an unsigned number.
template <class Handle> std::uintptr_t bits(Handle handle) noexcept {
    if constexpr (std::is_integral_v<Handle>) {
        return static_cast<std::uint32_t>(handle);
    } else {
        return reinterpret_cast<std::uintptr_t>(handle);
    }
}

// Of MPICH: true for a request that exists from the start. Each message that was sent at once has this one, so several
// operations have it at a time; all are complete. Not known with the standard ABI.
inline bool is_of_complete_operations(MPI_Request request) noexcept {
    constexpr int kind_of_object = 30; // the bits from here on
    constexpr std::uintptr_t built_in = 1;
    return request_handles == handle_kind::integer && bits(request) >> kind_of_object == built_in;
}

} // namespace thence::mpi
