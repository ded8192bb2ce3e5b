// SPDX-License-Identifier: BSD-3-Clause
#ifndef THENCE_MPI_ELEMENT_HPP
#define THENCE_MPI_ELEMENT_HPP
#if __cplusplus < 202002L
#error "thence/mpi/element.hpp needs C++20: compile with -std=c++20"
#else

/** @file mpi/element.hpp
 *  @brief Which types can be elements of a message: those that mean the same on another process.
 *
 *  Arithmetic types, std::complex and std::byte travel as what they are; enumerations, trivially copyable aggregates
 *  (a `struct` of such types) and arrays of all these as their bytes. A pointer means nothing elsewhere: an aggregate
 *  that holds one is refused. Into a class with constructors or private members, a union, or a struct of more than
 *  thence::detail::most_inspected members nothing can look: they travel once you say so with thence::as_bytes. */

#include <array>
#include <type_traits>

#include <thence/mpi/datatype.hpp>

namespace thence {

namespace detail {

template <class T> consteval bool travels();
template <class T> consteval bool only_values_inside();

} // namespace detail

/** @brief Whether a trivially copyable class type travels as its bytes. Found out for aggregates; for others say it:
 *         `template <> inline constexpr bool thence::as_bytes<my_class> = true;`, or `= false` to refuse one. */
template <class T> inline constexpr bool as_bytes = detail::only_values_inside<T>();

namespace detail {

/** Initializes any member, and so counts them. */
struct anything {
    template <class T> operator T() const noexcept;
};
/** Initializes a member that travels. Of another the conversion is deleted, not missing: without it, a compiler takes
 *  a nested aggregate for one whose braces are left out, and looks at its first member alone. Some still do; has_more()
 *  finds that. */
struct a_value {
    template <class T>
    requires(travels<T>()) operator T() const noexcept;
    template <class T>
    requires(!travels<T>()) operator T() const = delete;
};

template <class Part, std::size_t> using repeat = Part;
template <class T, class Part, std::size_t... Is> consteval bool takes(std::index_sequence<Is...>) {
    return requires {
        T{std::declval<repeat<Part, Is>>()...};
    };
}
/** Whether `T{part, part, ...}` is well-formed with N of them. */
template <class T, std::size_t N, class Part>
inline constexpr bool takes_members = takes<T, Part>(std::make_index_sequence<N>());
/** Whether a member is left after those that values have initialized: one that nothing could be said of. */
template <class T, std::size_t... Is> consteval bool has_more(std::index_sequence<Is...>) {
    return requires {
        T{std::declval<repeat<a_value, Is>>()..., {}};
    };
}

inline constexpr std::size_t most_inspected = 512;

/** How many members it has, those of arrays counted one by one: between `Least`, which it takes, and `Beyond`. */
template <class T, std::size_t Least, std::size_t Beyond> consteval std::size_t members_between() {
    if constexpr (Beyond - Least == 1)
        return Least;
    else if constexpr (constexpr std::size_t middle = Least + (Beyond - Least) / 2; takes_members<T, middle, anything>)
        return members_between<T, middle, Beyond>();
    else
        return members_between<T, Least, middle>();
}
template <class T, std::size_t Tried = 1> consteval std::size_t members() {
    if constexpr (!takes_members<T, Tried, anything>)
        return members_between<T, Tried / 2, Tried>();
    else if constexpr (Tried > most_inspected)
        return Tried;
    else
        return members<T, 2 * Tried>();
}

/** Whether nothing but values that travel is in the aggregate. */
template <class T> consteval bool only_values_inside() {
    if constexpr (!std::is_aggregate_v<T> || std::is_union_v<T> || !std::is_copy_assignable_v<T>) {
        return false; // copies cannot be assigned where there are references
    } else if constexpr (std::is_empty_v<T>) {
        return true;
    } else {
        constexpr std::size_t count = members<T>();
        if constexpr (count == 0 || count > most_inspected)
            return false;
        else
            return takes_members<T, count, a_value> && !has_more<T>(std::make_index_sequence<count>());
    }
}

template <class> inline constexpr bool is_std_array = false;
template <class T, std::size_t N> inline constexpr bool is_std_array<std::array<T, N>> = true;

/** Whether a T can be an element of a message. */
template <class T> consteval bool travels() {
    if constexpr (std::is_const_v<T> || std::is_volatile_v<T>)
        return travels<std::remove_cv_t<T>>();
    else if constexpr (!std::is_trivially_copyable_v<T>)
        return false;
    else if constexpr (std::is_array_v<T>)
        return travels<std::remove_all_extents_t<T>>();
    else if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T> || has_mpi_type<T>)
        return true;
    else if constexpr (is_std_array<T>)
        return travels<typename T::value_type>();
    else if constexpr (std::is_class_v<T> || std::is_union_v<T>)
        return as_bytes<T>;
    else
        return !std::is_scalar_v<T>; // no pointer, but what compilers add, such as __int128
}

} // namespace detail

} // namespace thence

#endif // C++20
#endif
