// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/** @file mpi/datatype.hpp
 *  @brief The MPI datatype of a C++ type, and the MPI operation of a function object.
 *
 *  This header includes neither <complex> nor <functional>, which take longer to compile than all other headers of
 *  thence/mpi. It recognizes std::complex by its template, and function objects by the operators that they call. */

#include <thence/detail/cxx20.hpp>

#include <concepts>
#include <cstddef>
#include <type_traits>
#include <utility>

#include <mpi.h>

namespace thence {

/** @brief Function objects of MPI_MIN and MPI_MAX, which the standard library does not have. */
struct minimum {};
struct maximum {};

namespace detail {

template <class> inline constexpr bool unknown_type = false;

template <class T>
inline constexpr bool mpi_floating_point =
    std::is_same_v<T, float> || std::is_same_v<T, double> || std::is_same_v<T, long double>;

/** The arithmetic types that have MPI datatypes. Extensions of compilers, such as __int128, have none. */
template <class T>
inline constexpr bool
    has_mpi_type = (std::is_integral_v<T> && sizeof(T) <= 8) || mpi_floating_point<T> || std::is_same_v<T, std::byte>;
template <class T>
concept complex_number = requires(const T &z) {
    typename T::value_type;
    { z.real() } -> std::same_as<typename T::value_type>;
    { z.imag() } -> std::same_as<typename T::value_type>;
}
&&mpi_floating_point<typename T::value_type> &&std::is_trivially_copyable_v<T> &&
    sizeof(T) == 2 * sizeof(typename T::value_type);
template <complex_number T> inline constexpr bool has_mpi_type<T> = true;

template <class T> MPI_Datatype integer_type() noexcept {
    constexpr bool is_signed = std::is_signed_v<T>;
    static_assert(sizeof(T) <= 8);
    if constexpr (sizeof(T) == 1) {
        return is_signed ? MPI_INT8_T : MPI_UINT8_T;
    } else if constexpr (sizeof(T) == 2) {
        return is_signed ? MPI_INT16_T : MPI_UINT16_T;
    } else if constexpr (sizeof(T) == 4) {
        return is_signed ? MPI_INT32_T : MPI_UINT32_T;
    } else {
        return is_signed ? MPI_INT64_T : MPI_UINT64_T;
    }
}

template <class Part> MPI_Datatype complex_type() noexcept {
    if constexpr (std::is_same_v<Part, float>) {
        return MPI_CXX_FLOAT_COMPLEX;
    } else if constexpr (std::is_same_v<Part, double>) {
        return MPI_CXX_DOUBLE_COMPLEX;
    } else {
        return MPI_CXX_LONG_DOUBLE_COMPLEX;
    }
}

/** @return MPI's predefined datatype of T. */
template <class T> MPI_Datatype mpi_type() noexcept {
    if constexpr (std::is_same_v<T, char>) {
        return MPI_CHAR;
    } else if constexpr (std::is_same_v<T, bool>) {
        return MPI_CXX_BOOL;
    } else if constexpr (std::is_same_v<T, std::byte>) {
        return MPI_BYTE;
    } else if constexpr (std::is_integral_v<T>) {
        return integer_type<T>();
    } else if constexpr (std::is_same_v<T, float>) {
        return MPI_FLOAT;
    } else if constexpr (std::is_same_v<T, double>) {
        return MPI_DOUBLE;
    } else if constexpr (std::is_same_v<T, long double>) {
        return MPI_LONG_DOUBLE;
    } else if constexpr (complex_number<T>) {
        return complex_type<typename T::value_type>();
    } else {
        static_assert(unknown_type<T>, "no MPI datatype");
    }
}

/** @return the datatype of T in reductions. For char it is not MPI_CHAR, which MPI does not take for a number. */
template <class T> MPI_Datatype number_type() noexcept {
    if constexpr (std::is_same_v<T, char>) {
        return integer_type<char>();
    } else {
        return mpi_type<T>();
    }
}

enum class operation { sum, product, logical_and, logical_or, bit_and, bit_or, bit_xor };
template <operation> struct did {};

/** An operand whose operators return a type that names the operator. */
struct probe {
    friend did<operation::sum> operator+(probe, probe);
    friend did<operation::product> operator*(probe, probe);
    friend did<operation::logical_and> operator&&(probe, probe);
    friend did<operation::logical_or> operator||(probe, probe);
    friend did<operation::bit_and> operator&(probe, probe);
    friend did<operation::bit_or> operator|(probe, probe);
    friend did<operation::bit_xor> operator^(probe, probe);
};

/** The type that names the operator which a function object calls; void if it is none of these. */
template <class Op> struct what_does { using type = void; };
template <class Op>
requires requires(Op &op) {
    op(probe(), probe());
}
struct what_does<Op> {
    using type = decltype(std::declval<Op &>()(probe(), probe()));
};
/** For std::plus<int> it is that of std::plus<>. */
template <template <class> class Op, class T>
requires(!std::is_void_v<T> && requires(Op<void> & op) { op(probe(), probe()); }) struct what_does<Op<T>>
    : what_does<Op<void>> {
};

template <class Done> MPI_Op operator_that() noexcept {
    if constexpr (std::is_same_v<Done, did<operation::sum>>) {
        return MPI_SUM;
    } else if constexpr (std::is_same_v<Done, did<operation::product>>) {
        return MPI_PROD;
    } else if constexpr (std::is_same_v<Done, did<operation::logical_and>>) {
        return MPI_LAND;
    } else if constexpr (std::is_same_v<Done, did<operation::logical_or>>) {
        return MPI_LOR;
    } else if constexpr (std::is_same_v<Done, did<operation::bit_and>>) {
        return MPI_BAND;
    } else if constexpr (std::is_same_v<Done, did<operation::bit_or>>) {
        return MPI_BOR;
    } else if constexpr (std::is_same_v<Done, did<operation::bit_xor>>) {
        return MPI_BXOR;
    } else {
        static_assert(unknown_type<Done>,
                      "a reduction takes an MPI_Op, std::plus<>, std::multiplies<>, std::logical_and<>, "
                      "std::logical_or<>, std::bit_and<>, std::bit_or<>, std::bit_xor<>, thence::minimum "
                      "or thence::maximum");
    }
}

template <class Op> MPI_Op operator_of(const Op &op) noexcept {
    if constexpr (std::is_same_v<Op, MPI_Op>) {
        return op;
    } else if constexpr (std::is_same_v<Op, minimum>) {
        return MPI_MIN;
    } else if constexpr (std::is_same_v<Op, maximum>) {
        return MPI_MAX;
    } else {
        return operator_that<typename what_does<Op>::type>();
    }
}

} // namespace detail

} // namespace thence
