// SPDX-License-Identifier: BSD-3-Clause
// refused: sync_wait: the sender must have exactly one way to complete with values
// errors: 1
#include <thence/transform_mpi.hpp>

namespace ex = thence::ex;

void use() {
    auto two = ex::just() | ex::then([] { return 2L; }) | ex::upon_error([](auto &&) noexcept { return 'c'; });
#ifdef MENDED
    thence::sync_wait(two | ex::into_variant());
#else
    thence::sync_wait(two);
#endif
}
