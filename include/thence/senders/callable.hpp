// SPDX-License-Identifier: BSD-3-Clause
#ifndef THENCE_SENDERS_CALLABLE_HPP
#define THENCE_SENDERS_CALLABLE_HPP
#if __cplusplus < 202002L
#error "thence/senders/callable.hpp needs C++20: compile with -std=c++20"
#else

/** @file senders/callable.hpp
 *  @brief What transform_mpi() calls: a function of the predecessor's values whose last parameter takes the requests
 *         that it starts, `MPI_Request *` for one or `thence::requests<N>` for N of them.
 *
 *  It returns an MPI error code, or nothing. It gets the values as lvalues, which live until the operation is
 *  complete. */

#include <array>
#include <cstddef>
#include <type_traits>
#include <utility>

#include <mpi.h>

namespace thence {

/** @brief The requests of an operation that consists of N of them: `MPI_REQUEST_NULL` until the callable sets them.
 *         What it leaves null counts as complete. */
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

/** @brief Most requests of one operation. For more, join several operations with when_all(). */
inline constexpr std::size_t most_requests = 64;

namespace detail {

template <class F, class... Vs> inline constexpr bool takes_one = std::is_invocable_v<F &, Vs &..., MPI_Request *>;
template <class F, std::size_t N, class... Vs>
inline constexpr bool takes_group = std::is_invocable_v<F &, Vs &..., requests<N>>;

/** How many requests the callable takes; 0: it is none. */
template <class F, class... Vs> consteval std::size_t requests_of() {
    if constexpr (takes_one<F, Vs...>)
        return 1;
    else
        return []<std::size_t... Is>(std::index_sequence<Is...>) {
            std::size_t found = 0;
            (void)((takes_group<F, Is + 1, Vs...> && (found = Is + 1) != 0) || ...);
            return found;
        }
    (std::make_index_sequence<most_requests>());
}

/** Calls it; what it returns becomes an error code. */
template <std::size_t N, class F, class... Vs> int call_for_requests(F &fn, MPI_Request *first, Vs &...values) {
    if constexpr (takes_one<F, Vs...>) {
        using result = std::invoke_result_t<F &, Vs &..., MPI_Request *>;
        if constexpr (std::is_void_v<result>)
            return fn(values..., first), MPI_SUCCESS;
        else
            return fn(values..., first);
    } else if constexpr (takes_group<F, N, Vs...>) {
        using result = std::invoke_result_t<F &, Vs &..., requests<N>>;
        if constexpr (std::is_void_v<result>)
            return fn(values..., requests<N>(first)), MPI_SUCCESS;
        else
            return fn(values..., requests<N>(first));
    } else {
        return MPI_ERR_OTHER; // refused, see callable_for
    }
}

// The header of the standard ABI has enumerators for the codes.
template <class T>
inline constexpr bool is_code = std::is_void_v<T> || std::is_same_v<T, int> ||
                                (std::is_enum_v<T> && std::is_convertible_v<T, int>);

template <class F, std::size_t N, class... Vs> consteval bool returns_code() {
    if constexpr (takes_one<F, Vs...>)
        return is_code<std::invoke_result_t<F &, Vs &..., MPI_Request *>>;
    else if constexpr (N != 0)
        return is_code<std::invoke_result_t<F &, Vs &..., requests<N>>>;
    else
        return true; // refused for another reason
}

/** How many requests a callable takes. The checks have messages that say what to change. */
template <class F, class... Vs> struct callable_for {
    static constexpr std::size_t found = requests_of<F, Vs...>();
    static constexpr std::size_t count = found != 0 ? found : 1; // no second message
    static_assert(found != 0, "transform_mpi: the callable cannot be called with lvalues of the values that the sender "
                              "before it sends, followed by an MPI_Request * (or thence::requests<N>); its last "
                              "parameter must be the MPI_Request *, the others must take these values");
    static_assert(returns_code<F, found, Vs...>(),
                  "transform_mpi: the callable must return an MPI error code (int) or nothing");
};

} // namespace detail

} // namespace thence

#endif // C++20
#endif
