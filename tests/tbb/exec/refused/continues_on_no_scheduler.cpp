// SPDX-License-Identifier: BSD-3-Clause
// refused: continues_on: the second argument is not a scheduler
#include <thence/exec.hpp>

namespace ex = thence::exec;

int main() {
#ifdef MENDED
    ex::sync_wait(ex::continues_on(ex::just(), ex::inline_scheduler()));
#else
    ex::sync_wait(ex::continues_on(ex::just(), 1));
#endif
}
