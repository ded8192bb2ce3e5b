// SPDX-License-Identifier: BSD-3-Clause
// refused: co_await of a sender with several ways to complete with values: pipe it into into_variant
#include <thence/exec.hpp>

namespace ex = thence::exec;

ex::task<void> body() {
    auto two = ex::just() | ex::then([] { return 2L; }) | ex::upon_error([](auto &&) noexcept { return 'c'; });
#ifdef MENDED
    co_await (two | ex::into_variant());
#else
    co_await two;
#endif
}

int main() {
    ex::sync_wait(body());
}
