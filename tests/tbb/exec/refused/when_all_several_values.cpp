// SPDX-License-Identifier: BSD-3-Clause
// refused: when_all: a sender has several ways to complete with values; pipe it into into_variant
#include <thence/exec.hpp>

namespace ex = thence::exec;

int main() {
    auto two = ex::just() | ex::then([] { return 2L; }) | ex::upon_error([](auto &&) noexcept { return 'c'; });
#ifdef MENDED
    ex::sync_wait(ex::when_all(ex::just(1), two | ex::into_variant()));
#else
    ex::sync_wait(ex::when_all(ex::just(1), two));
#endif
}
