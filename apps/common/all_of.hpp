// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <thence/execution.hpp>

namespace apps {

// The tasks make(first) to make(first + count - 1), all at the same time; `count` is at least 1. when_all() takes a
// number of tasks that is known to the compiler, here two.
template <class Make> thence::ex::task<> all_of(std::size_t count, Make make, std::size_t first = 0) {
    if (count == 1) {
        co_await make(first);
    } else {
        co_await thence::ex::when_all(all_of(count / 2, make, first),
                                      all_of(count - count / 2, make, first + count / 2));
    }
}

} // namespace apps
