// SPDX-License-Identifier: BSD-3-Clause
// Blocking calls that only MPI itself can do, since just a blocking call matches the other ranks' blocking calls, or
// since there is no nonblocking form: inside a callback they are assisted, by progress from another thread for as long
// as they last. Where continuations run from no hook of MPI, those that became ready run when the call returns.
#pragma once

#include "continuation/interposing.hpp"

#include <thence/thence.h>

namespace thence::pmpi {

template <class Call> int assisted(Call call) {
    if (continuation::attention.load(std::memory_order_relaxed) == 0) [[likely]] {
        return call();
    }
    const continuation::assistance helped;
    const int code = call();
    continuation::catch_up();
    return code;
}

} // namespace thence::pmpi

#define THENCE_UNPACK(...) __VA_ARGS__
#define THENCE_ASSISTED(name, parameters, arguments)                                                                   \
    THENCE_EXPORT int MPI_##name(THENCE_UNPACK parameters) {                                                           \
        return thence::pmpi::assisted([&] { return PMPI_##name(THENCE_UNPACK arguments); });                           \
    }
