// SPDX-License-Identifier: BSD-3-Clause
// refused: the function cannot be called with what the sender before it sends; change its parameters
#include <thence/exec.hpp>

namespace ex = thence::exec;

int main() {
#ifdef MENDED
    auto function = [](int) {};
#else
    auto function = [](int, int) {};
#endif
    ex::sync_wait(ex::just(1) | ex::then(function));
}
