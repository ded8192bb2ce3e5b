// SPDX-License-Identifier: BSD-3-Clause
#ifndef THENCE_EXEC_ERROR_CODE_HPP
#define THENCE_EXEC_ERROR_CODE_HPP
#if __cplusplus < 202002L
#error "thence/exec/error_code.hpp needs C++20: compile with -std=c++20"
#else

/** @file exec/error_code.hpp
 *  @brief Lets sync_wait() and `co_await` throw a sender's std::error_code as std::system_error.
 *
 *  Source: C++26 [exec.general]. */

#include <system_error>

#include <thence/exec/detail/as_exception.hpp>

namespace thence::exec {

template <> struct error_as_exception<std::error_code> {
    [[noreturn]] static void raise(std::error_code error) { throw std::system_error(error); }
};

} // namespace thence::exec

#endif // C++20
#endif
