// SPDX-License-Identifier: BSD-3-Clause
// refused: sync_wait: the sender must have exactly one way to complete with values
#include <thence/exec.hpp>

namespace ex = thence::exec;

int main() {
    auto two = ex::just() | ex::then([] { return 2L; }) | ex::upon_error([](auto &&) noexcept { return 'c'; });
#ifdef MENDED
    ex::sync_wait(two | ex::into_variant());
#else
    ex::sync_wait(two);
#endif
}
