// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// The error of a sender as an exception, for sync_wait and co_await. A std::exception_ptr is the exception; any other
// error is thrown as it is. thence/exec/error_code.hpp adds std::error_code, whose header takes long to compile.

#include <exception>

#include <thence/exec/detail/meta.hpp>

namespace thence::exec {

/** Throws an error of type E. */
template <class E> struct error_as_exception {
    [[noreturn]] static void raise(E error) {
        static_assert(
            !requires { error.default_error_condition(); },
            "include <thence/exec/error_code.hpp> to throw a std::error_code as std::system_error");
        throw static_cast<E &&>(error);
    }
};

namespace detail {

template <class E> std::exception_ptr as_exception(E &&error) noexcept {
    if constexpr (std::is_same_v<std::decay_t<E>, std::exception_ptr>) {
        return static_cast<E &&>(error);
    } else {
        try {
            error_as_exception<std::decay_t<E>>::raise(static_cast<E &&>(error));
        } catch (...) {
            return std::current_exception();
        }
    }
}

} // namespace detail

} // namespace thence::exec
