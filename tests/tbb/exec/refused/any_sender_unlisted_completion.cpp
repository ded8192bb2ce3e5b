// SPDX-License-Identifier: BSD-3-Clause
// refused: completes in a way that the any_sender does not list; add that signature
#include <thence/exec.hpp>

namespace ex = thence::exec;

int main() {
#ifdef MENDED
    ex::any_sender<ex::set_value_t(), ex::set_error_t(int)> any = ex::just_error(1);
#else
    ex::any_sender<ex::set_value_t()> any = ex::just_error(1);
#endif
    (void)any;
}
