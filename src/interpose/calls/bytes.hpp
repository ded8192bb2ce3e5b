// SPDX-License-Identifier: BSD-3-Clause
// How many bytes a nonblocking call transfers, from its arguments, for the report. It looks at what this rank sends; at
// what it receives where only the root's arguments for sending count, or the send buffer is MPI_IN_PLACE. Neighborhood
// collectives with a count per neighbor, those on intercommunicators, and MPI_IN_PLACE with a count per rank, count as
// 0 bytes.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <string_view>
#include <tuple>
#include <type_traits>

namespace thence::pmpi {

namespace bytes {

inline std::int64_t product(MPI_Count count, MPI_Datatype type) {
    int size = 0; // MPI_UNDEFINED if it is larger than an int
    const bool has_size = count > 0 && type != MPI_DATATYPE_NULL && PMPI_Type_size(type, &size) == MPI_SUCCESS;
    return has_size && size > 0 ? static_cast<std::int64_t>(count) * size : 0;
}

inline int ranks_of(MPI_Comm comm) {
    int inter = 0;
    int ranks = 0;
    return PMPI_Comm_test_inter(comm, &inter) == MPI_SUCCESS && inter == 0 &&
                   PMPI_Comm_size(comm, &ranks) == MPI_SUCCESS
               ? ranks
               : 0;
}

template <class Counts>
std::int64_t sum(const Counts counts[], const MPI_Datatype *types, MPI_Datatype type, int ranks) {
    std::int64_t all = 0;
    for (int i = 0; i < ranks; ++i) {
        all += product(counts[i], types != nullptr ? types[i] : type);
    }
    return all;
}

template <class T>
inline constexpr bool is_buffer = std::is_pointer_v<T> &&std::is_void_v<std::remove_cv_t<std::remove_pointer_t<T>>>;
template <class T>
inline constexpr bool is_counts = std::is_pointer_v<T> &&std::is_integral_v<std::remove_cv_t<std::remove_pointer_t<T>>>;

// void behind the last.
template <std::size_t i, class... Arguments> constexpr auto type_at() {
    if constexpr (i < sizeof...(Arguments)) {
        return std::type_identity<std::tuple_element_t<i, std::tuple<Arguments...>>>();
    } else {
        return std::type_identity<void>();
    }
}
template <std::size_t i, class... Arguments> using at_index = typename decltype(type_at<i, Arguments...>())::type;

// The arguments behind the first `at` are (buffer, count, type ...) or one of the other forms of collectives.
template <std::size_t at, class... Arguments>
std::int64_t transferred(std::string_view name, MPI_Comm comm, const std::tuple<Arguments...> &all) {
    constexpr std::size_t size = sizeof...(Arguments);
    if constexpr (at + 2 >= size) {
        return 0;
    } else if constexpr (!is_buffer<at_index<at, Arguments...>>) {
        return transferred<at + 1>(name, comm, all); // a file, an offset
    } else {
        using second = at_index<at + 1, Arguments...>;
        using third = at_index<at + 2, Arguments...>;
        const void *const buffer = std::get<at>(all);
        if constexpr (is_buffer<second>) { // a reduction: two buffers
            if constexpr (is_counts<third>) {
                return sum(std::get<at + 2>(all), nullptr, std::get<at + 3>(all), ranks_of(comm));
            } else {
                return product(std::get<at + 2>(all), std::get<at + 3>(all));
            }
        } else if constexpr (is_counts<second>) { // counts, displacements, type or types
            if constexpr (at + 6 < size && is_buffer<at_index<at + 4, Arguments...>> &&
                          !is_counts<at_index<at + 5, Arguments...>>) {
                return transferred<at + 4>(name, comm, all); // scattered: what each rank receives
            } else if (buffer == MPI_IN_PLACE || name.find("eighbor") != name.npos) {
                return 0;
            } else if constexpr (std::is_pointer_v<at_index<at + 3, Arguments...>> &&
                                 !std::is_same_v<at_index<at + 3, Arguments...>, MPI_Datatype>) {
                return sum(std::get<at + 1>(all), std::get<at + 3>(all), MPI_DATATYPE_NULL, ranks_of(comm));
            } else {
                return sum(std::get<at + 1>(all), nullptr, std::get<at + 3>(all), ranks_of(comm));
            }
        } else if constexpr (std::is_same_v<third, MPI_Count> && !std::is_same_v<MPI_Datatype, MPI_Count>) {
            return std::get<at + 1>(all) * product(std::get<at + 2>(all), std::get<at + 3>(all)); // partitions
        } else {
            const bool scatters = name.starts_with("MPI_Iscatter") || name.starts_with("MPI_Scatter");
            if constexpr (at + 5 < size && is_buffer<at_index<at + 3, Arguments...>>) {
                if (buffer == MPI_IN_PLACE || scatters) {
                    return transferred<at + 3>("", comm, all);
                }
            }
            const std::int64_t once =
                buffer == MPI_IN_PLACE ? 0 : product(std::get<at + 1>(all), std::get<at + 2>(all));
            const bool to_each = name.starts_with("MPI_Ialltoall") || name.starts_with("MPI_Alltoall");
            return to_each ? once * ranks_of(comm) : once;
        }
    }
}

} // namespace bytes

// Below 0 if MPI transfers nothing. `name`: of the call.
template <class... Arguments> std::int64_t bytes_of(const char *name, MPI_Comm comm, Arguments... arguments) {
    using first = std::tuple_element_t<0, std::tuple<Arguments..., int>>; // there may be none
    if constexpr (std::is_function_v<std::remove_pointer_t<first>>) {
        return -1; // a generalized request
    } else {
        return bytes::transferred<0>(name, comm, std::tuple<Arguments...>(arguments...));
    }
}

} // namespace thence::pmpi
