// SPDX-License-Identifier: BSD-3-Clause
#ifndef THENCE_SENDERS_DATATYPE_HPP
#define THENCE_SENDERS_DATATYPE_HPP

/** @file senders/datatype.hpp
 *  @brief Which MPI datatype a C++ type is, and which operation a function object. */

#include <complex>
#include <cstddef>
#include <functional>
#include <type_traits>

#include <mpi.h>

namespace thence {

/** @brief Function objects for what the standard library has none. */
struct minimum {};
struct maximum {};

namespace detail {

template <class> inline constexpr bool unknown_type = false;

/** Arithmetic types and std::complex of floating-point types, for which MPI has datatypes with arithmetic. */
template <class T> inline constexpr bool has_mpi_type = std::is_arithmetic_v<T> || std::is_same_v<T, std::byte>;
template <class T> inline constexpr bool has_mpi_type<std::complex<T>> = std::is_floating_point_v<T>;

template <class T> MPI_Datatype integer_type() noexcept {
    constexpr bool is_signed = std::is_signed_v<T>;
    if constexpr (sizeof(T) == 1)
        return is_signed ? MPI_INT8_T : MPI_UINT8_T;
    else if constexpr (sizeof(T) == 2)
        return is_signed ? MPI_INT16_T : MPI_UINT16_T;
    else if constexpr (sizeof(T) == 4)
        return is_signed ? MPI_INT32_T : MPI_UINT32_T;
    else
        return is_signed ? MPI_INT64_T : MPI_UINT64_T;
}

/** MPI's own datatype of T. */
template <class T> MPI_Datatype mpi_type() noexcept {
    if constexpr (std::is_same_v<T, char>)
        return MPI_CHAR;
    else if constexpr (std::is_same_v<T, bool>)
        return MPI_CXX_BOOL;
    else if constexpr (std::is_same_v<T, std::byte>)
        return MPI_BYTE;
    else if constexpr (std::is_integral_v<T>)
        return integer_type<T>();
    else if constexpr (std::is_same_v<T, float>)
        return MPI_FLOAT;
    else if constexpr (std::is_same_v<T, double>)
        return MPI_DOUBLE;
    else if constexpr (std::is_same_v<T, long double>)
        return MPI_LONG_DOUBLE;
    else if constexpr (std::is_same_v<T, std::complex<float>>)
        return MPI_CXX_FLOAT_COMPLEX;
    else if constexpr (std::is_same_v<T, std::complex<double>>)
        return MPI_CXX_DOUBLE_COMPLEX;
    else if constexpr (std::is_same_v<T, std::complex<long double>>)
        return MPI_CXX_LONG_DOUBLE_COMPLEX;
    else
        static_assert(unknown_type<T>, "no MPI datatype");
}

template <class Op> struct mpi_operator {
    static_assert(unknown_type<Op>, "a reduction takes an MPI_Op, std::plus<>, std::multiplies<>, std::logical_and<>, "
                                    "std::logical_or<>, std::bit_and<>, std::bit_or<>, std::bit_xor<>, thence::minimum "
                                    "or thence::maximum");
};
template <class T> struct mpi_operator<std::plus<T>> {
    static MPI_Op get() noexcept { return MPI_SUM; }
};
template <class T> struct mpi_operator<std::multiplies<T>> {
    static MPI_Op get() noexcept { return MPI_PROD; }
};
template <class T> struct mpi_operator<std::logical_and<T>> {
    static MPI_Op get() noexcept { return MPI_LAND; }
};
template <class T> struct mpi_operator<std::logical_or<T>> {
    static MPI_Op get() noexcept { return MPI_LOR; }
};
template <class T> struct mpi_operator<std::bit_and<T>> {
    static MPI_Op get() noexcept { return MPI_BAND; }
};
template <class T> struct mpi_operator<std::bit_or<T>> {
    static MPI_Op get() noexcept { return MPI_BOR; }
};
template <class T> struct mpi_operator<std::bit_xor<T>> {
    static MPI_Op get() noexcept { return MPI_BXOR; }
};
template <> struct mpi_operator<minimum> {
    static MPI_Op get() noexcept { return MPI_MIN; }
};
template <> struct mpi_operator<maximum> {
    static MPI_Op get() noexcept { return MPI_MAX; }
};

template <class Op> MPI_Op operator_of(const Op &op) noexcept {
    if constexpr (std::is_same_v<Op, MPI_Op>)
        return op;
    else
        return mpi_operator<Op>::get();
}

} // namespace detail

} // namespace thence

#endif
