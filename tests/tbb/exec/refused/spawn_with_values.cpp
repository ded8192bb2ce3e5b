// SPDX-License-Identifier: BSD-3-Clause
// refused: spawn: values and errors of a spawned sender are not delivered; drop values with then
#include <thence/exec.hpp>

namespace ex = thence::exec;

int main() {
    ex::counting_scope scope;
#ifdef MENDED
    ex::spawn(ex::just(1) | ex::then([](auto &&...) noexcept {}), scope.get_token());
#else
    ex::spawn(ex::just(1), scope.get_token());
#endif
    ex::sync_wait(scope.join());
}
