// SPDX-License-Identifier: BSD-3-Clause
// refused: the function must return a sender; to return a value use then
#include <thence/exec.hpp>

namespace ex = thence::exec;

int main() {
#ifdef MENDED
    auto function = [](int i) { return ex::just(i); };
#else
    auto function = [](int i) { return i; };
#endif
    ex::sync_wait(ex::just(1) | ex::let_value(function));
}
