// SPDX-License-Identifier: BSD-3-Clause
#pragma once

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
