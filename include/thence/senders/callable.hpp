// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/** @file senders/callable.hpp
 *  @brief The callable of transform_mpi(). Its parameters are the values of the predecessor, and last the requests that
 *         it starts: `MPI_Request *` for one, `thence::requests<N>` for N of them.
 *
 *  It returns an MPI error code, or nothing. It gets the values as lvalues, which exist until the operation is
 *  complete. */

#include <thence/detail/cxx20.hpp>

#include <array>
#include <cstddef>
#include <type_traits>
#include <utility>

#include <mpi.h>

namespace thence {

/** @brief The requests of a group of N operations. Each is `MPI_REQUEST_NULL` until the callable sets it. A request
 *         that stays null counts as complete. */
template <std::size_t N> class requests {
public:
    explicit requests(MPI_Request *first) noexcept : first_(first) {}
    MPI_Request *data() const noexcept { return first_; }
    static constexpr std::size_t size() noexcept { return N; }
    MPI_Request &operator[](std::size_t i) const noexcept { return first_[i]; }
    MPI_Request *begin() const noexcept { return first_; }
    MPI_Request *end() const noexcept { return first_ + N; }

private:
    MPI_Request *first_;
};

/** @brief The most requests of one group. For more, join several senders with when_all(). */
inline constexpr std::size_t most_requests = 64;

namespace detail {

template <class F, class... Vs> inline constexpr bool takes_one = std::is_invocable_v<F &, Vs &..., MPI_Request *>;
template <class F, std::size_t N, class... Vs>
inline constexpr bool takes_group = std::is_invocable_v<F &, Vs &..., requests<N>>;

/** @return how many requests F takes; 0 if it cannot be called with these values. */
template <class F, class... Vs> consteval std::size_t requests_of() {
    if constexpr (takes_one<F, Vs...>) {
        return 1;
    } else {
        return []<std::size_t... Is>(std::index_sequence<Is...>) {
            std::size_t found = 0;
            (void)((takes_group<F, Is + 1, Vs...> && (found = Is + 1) != 0) || ...);
            return found;
        }
        (std::make_index_sequence<most_requests>());
    }
}

/** Calls `fn`. @return its error code; MPI_SUCCESS if it returns nothing. */
template <std::size_t N, class F, class... Vs> int call_for_requests(F &fn, MPI_Request *first, Vs &...values) {
    if constexpr (takes_one<F, Vs...>) {
        using result = std::invoke_result_t<F &, Vs &..., MPI_Request *>;
        if constexpr (std::is_void_v<result>) {
            return fn(values..., first), MPI_SUCCESS;
        } else {
            return fn(values..., first);
        }
    } else if constexpr (takes_group<F, N, Vs...>) {
        using result = std::invoke_result_t<F &, Vs &..., requests<N>>;
        if constexpr (std::is_void_v<result>) {
            return fn(values..., requests<N>(first)), MPI_SUCCESS;
        } else {
            return fn(values..., requests<N>(first));
        }
    } else {
        return MPI_ERR_OTHER; // callable_for has given a message
    }
}

// In the header of the standard ABI the error codes are enumerators.
template <class T>
inline constexpr bool is_code = std::is_void_v<T> || std::is_same_v<T, int> ||
                                (std::is_enum_v<T> && std::is_convertible_v<T, int>);

template <class F, std::size_t N, class... Vs> consteval bool returns_code() {
    if constexpr (takes_one<F, Vs...>) {
        return is_code<std::invoke_result_t<F &, Vs &..., MPI_Request *>>;
    } else if constexpr (N != 0) {
        return is_code<std::invoke_result_t<F &, Vs &..., requests<N>>>;
    } else {
        return true; // callable_for has given another message
    }
}

/** How many requests a callable takes. The assertions say what to change. */
template <class F, class... Vs> struct callable_for {
    static constexpr std::size_t found = requests_of<F, Vs...>();
    static constexpr std::size_t count = found != 0 ? found : 1; // 1 avoids a second message
    static_assert(found != 0, "transform_mpi: the callable cannot be called with lvalues of the values that the sender "
                              "before it sends, followed by an MPI_Request * (or thence::requests<N>); its last "
                              "parameter must be the MPI_Request *, the others must take these values");
    static_assert(returns_code<F, found, Vs...>(),
                  "transform_mpi: the callable must return an MPI error code (int) or nothing");
};

} // namespace detail

} // namespace thence
