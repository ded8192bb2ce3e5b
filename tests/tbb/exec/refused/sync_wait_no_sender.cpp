// SPDX-License-Identifier: BSD-3-Clause
// refused: sync_wait: this is not a sender
#include <thence/exec.hpp>

namespace ex = thence::exec;

int main() {
#ifdef MENDED
    ex::sync_wait(ex::just(1));
#else
    ex::sync_wait(1);
#endif
}
