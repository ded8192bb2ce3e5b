// SPDX-License-Identifier: BSD-3-Clause
// refused: cannot be called with lvalues of what the sender before it sends
#include <thence/exec.hpp>

namespace ex = thence::exec;

int main() {
#ifdef MENDED
    auto function = [](int &i) { return ex::just(i); };
#else
    auto function = [](int &&i) { return ex::just(i); };
#endif
    ex::sync_wait(ex::just(1) | ex::let_value(function));
}
