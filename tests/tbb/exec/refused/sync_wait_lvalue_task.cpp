// SPDX-License-Identifier: BSD-3-Clause
// refused: this sender can be waited for only once: pass it with std::move
// errors: 1
#include <thence/exec.hpp>

namespace ex = thence::exec;

ex::task<> body();

int main() {
    auto task = body();
#ifdef MENDED
    ex::sync_wait(std::move(task));
#else
    ex::sync_wait(task);
#endif
}
