// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/** @file mpi/element.hpp
 *  @brief The types of elements of messages: those whose values mean the same on another process.
 *
 *  Arithmetic types, std::complex and std::byte are sent with their MPI datatypes. Enumerations, trivially copyable
 *  aggregates (a `struct` of such types) and arrays of all these are sent as their bytes. A pointer has no meaning on
 *  another process, so an aggregate with a pointer is a compile error. The members of a class with constructors or
 *  private members, of a union, or of a struct of more than thence::detail::most_inspected members cannot be inspected:
 *  such types are sent only if you declare them with thence::as_bytes. */

#include <array>
#include <type_traits>

#include <thence/mpi/datatype.hpp>

namespace thence {

namespace detail {

template <class T> consteval bool sendable();
template <class T> consteval bool only_values_inside();

} // namespace detail

/** @brief Whether a trivially copyable class type is sent as its bytes. It is computed for aggregates. For other types
 *         declare it: `template <> inline constexpr bool thence::as_bytes<my_class> = true;`. With `= false` elements
 *         of that type are a compile error. */
template <class T> inline constexpr bool as_bytes = detail::only_values_inside<T>();

namespace detail {

/** Converts to any type, so it can initialize any member. It serves to count members. */
struct anything {
    template <class T> operator T() const noexcept;
};
/** Converts to the types that can be sent. The conversion to any other type is deleted, not missing: else a compiler
 *  assumes that the braces of a nested aggregate are left out, and checks only its first member. Some compilers do so
 *  in any case; has_more() detects that. */
struct a_value {
    template <class T>
    requires(sendable<T>()) operator T() const noexcept;
    template <class T>
    requires(!sendable<T>()) operator T() const = delete;
};

template <class Part, std::size_t> using repeat = Part;
template <class T, class Part, std::size_t... Is> consteval bool takes(std::index_sequence<Is...>) {
    return requires {
        T{std::declval<repeat<Part, Is>>()...};
    };
}
/** Whether `T{value, value, ...}` is well-formed with N values of type `Part`. */
template <class T, std::size_t N, class Part>
inline constexpr bool takes_members = takes<T, Part>(std::make_index_sequence<N>());
/** Whether a member is left after N members: one that was not checked. */
template <class T, std::size_t... Is> consteval bool has_more(std::index_sequence<Is...>) {
    return requires {
        T{std::declval<repeat<a_value, Is>>()..., {}};
    };
}

inline constexpr std::size_t most_inspected = 512;

/** The number of members, with each element of an array counted. It is at least `Least` and less than `Beyond`. */
template <class T, std::size_t Least, std::size_t Beyond> consteval std::size_t members_between() {
    if constexpr (Beyond - Least == 1) {
        return Least;
    } else if constexpr (constexpr std::size_t middle = Least + (Beyond - Least) / 2;
                         takes_members<T, middle, anything>) {
        return members_between<T, middle, Beyond>();
    } else {
        return members_between<T, Least, middle>();
    }
}
template <class T, std::size_t Tried = 1> consteval std::size_t members() {
    if constexpr (!takes_members<T, Tried, anything>) {
        return members_between<T, Tried / 2, Tried>();
    } else if constexpr (Tried > most_inspected) {
        return Tried;
    } else {
        return members<T, 2 * Tried>();
    }
}

/** Whether all members of the aggregate can be sent. */
template <class T> consteval bool only_values_inside() {
    if constexpr (!std::is_aggregate_v<T> || std::is_union_v<T> || !std::is_copy_assignable_v<T>) {
        return false; // it has a reference member
    } else if constexpr (std::is_empty_v<T>) {
        return true;
    } else {
        constexpr std::size_t count = members<T>();
        if constexpr (count == 0 || count > most_inspected) {
            return false;
        } else {
            return takes_members<T, count, a_value> && !has_more<T>(std::make_index_sequence<count>());
        }
    }
}

template <class> inline constexpr bool is_std_array = false;
template <class T, std::size_t N> inline constexpr bool is_std_array<std::array<T, N>> = true;

/** Whether a T can be an element of a message. */
template <class T> consteval bool sendable() {
    if constexpr (std::is_const_v<T> || std::is_volatile_v<T>) {
        return sendable<std::remove_cv_t<T>>();
    } else if constexpr (!std::is_trivially_copyable_v<T>) {
        return false;
    } else if constexpr (std::is_array_v<T>) {
        return sendable<std::remove_all_extents_t<T>>();
    } else if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T> || has_mpi_type<T>) {
        return true;
    } else if constexpr (is_std_array<T>) {
        return sendable<typename T::value_type>();
    } else if constexpr (std::is_class_v<T> || std::is_union_v<T>) {
        return as_bytes<T>;
    } else {
        return !std::is_scalar_v<T>; // true for extensions of compilers such as __int128, false for pointers
    }
}

} // namespace detail

} // namespace thence
