// SPDX-License-Identifier: BSD-3-Clause
#ifndef THENCE_MPI_DATATYPE_HPP
#define THENCE_MPI_DATATYPE_HPP
#if __cplusplus < 202002L
#error "thence/mpi/datatype.hpp needs C++20: compile with -std=c++20"
#else

/** @file mpi/datatype.hpp
 *  @brief Which MPI datatype a C++ type is, and which operation a function object.
 *
 *  std::complex and the function objects of <functional> are known by what they look like and do, since both headers
 *  take longer to compile than the rest of the typed layer. */

#include <concepts>
#include <cstddef>
#include <type_traits>
#include <utility>

#include <mpi.h>

namespace thence {

/** @brief Function objects for what the standard library has none. */
struct minimum {};
struct maximum {};

namespace detail {

template <class> inline constexpr bool unknown_type = false;

template <class T>
inline constexpr bool mpi_floating_point =
    std::is_same_v<T, float> || std::is_same_v<T, double> || std::is_same_v<T, long double>;

/** Types for which MPI has datatypes with arithmetic. What compilers add, such as __int128, is none. */
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
    if constexpr (sizeof(T) == 1)
        return is_signed ? MPI_INT8_T : MPI_UINT8_T;
    else if constexpr (sizeof(T) == 2)
        return is_signed ? MPI_INT16_T : MPI_UINT16_T;
    else if constexpr (sizeof(T) == 4)
        return is_signed ? MPI_INT32_T : MPI_UINT32_T;
    else
        return is_signed ? MPI_INT64_T : MPI_UINT64_T;
}

template <class Part> MPI_Datatype complex_type() noexcept {
    if constexpr (std::is_same_v<Part, float>)
        return MPI_CXX_FLOAT_COMPLEX;
    else if constexpr (std::is_same_v<Part, double>)
        return MPI_CXX_DOUBLE_COMPLEX;
    else
        return MPI_CXX_LONG_DOUBLE_COMPLEX;
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
    else if constexpr (complex_number<T>)
        return complex_type<typename T::value_type>();
    else
        static_assert(unknown_type<T>, "no MPI datatype");
}

/** The datatype of T in reductions, where MPI_CHAR is text and not a number. */
template <class T> MPI_Datatype number_type() noexcept {
    if constexpr (std::is_same_v<T, char>)
        return integer_type<char>();
    else
        return mpi_type<T>();
}

enum class operation { sum, product, logical_and, logical_or, bit_and, bit_or, bit_xor };
template <operation> struct did {};

/** Tells what has been done to it. */
struct probe {
    friend did<operation::sum> operator+(probe, probe);
    friend did<operation::product> operator*(probe, probe);
    friend did<operation::logical_and> operator&&(probe, probe);
    friend did<operation::logical_or> operator||(probe, probe);
    friend did<operation::bit_and> operator&(probe, probe);
    friend did<operation::bit_or> operator|(probe, probe);
    friend did<operation::bit_xor> operator^(probe, probe);
};

/** What a function object does; void if that is none of these. */
template <class Op> struct what_does { using type = void; };
template <class Op>
requires requires(Op &op) {
    op(probe(), probe());
}
struct what_does<Op> {
    using type = decltype(std::declval<Op &>()(probe(), probe()));
};
/** std::plus<int> does what std::plus<> does. */
template <template <class> class Op, class T>
requires(!std::is_void_v<T> && requires(Op<void> & op) { op(probe(), probe()); }) struct what_does<Op<T>>
    : what_does<Op<void>> {
};

template <class Done> MPI_Op operator_that() noexcept {
    if constexpr (std::is_same_v<Done, did<operation::sum>>)
        return MPI_SUM;
    else if constexpr (std::is_same_v<Done, did<operation::product>>)
        return MPI_PROD;
    else if constexpr (std::is_same_v<Done, did<operation::logical_and>>)
        return MPI_LAND;
    else if constexpr (std::is_same_v<Done, did<operation::logical_or>>)
        return MPI_LOR;
    else if constexpr (std::is_same_v<Done, did<operation::bit_and>>)
        return MPI_BAND;
    else if constexpr (std::is_same_v<Done, did<operation::bit_or>>)
        return MPI_BOR;
    else if constexpr (std::is_same_v<Done, did<operation::bit_xor>>)
        return MPI_BXOR;
    else
        static_assert(unknown_type<Done>,
                      "a reduction takes an MPI_Op, std::plus<>, std::multiplies<>, std::logical_and<>, "
                      "std::logical_or<>, std::bit_and<>, std::bit_or<>, std::bit_xor<>, thence::minimum "
                      "or thence::maximum");
}

template <class Op> MPI_Op operator_of(const Op &op) noexcept {
    if constexpr (std::is_same_v<Op, MPI_Op>)
        return op;
    else if constexpr (std::is_same_v<Op, minimum>)
        return MPI_MIN;
    else if constexpr (std::is_same_v<Op, maximum>)
        return MPI_MAX;
    else
        return operator_that<typename what_does<Op>::type>();
}

} // namespace detail

} // namespace thence

#endif // C++20
#endif
