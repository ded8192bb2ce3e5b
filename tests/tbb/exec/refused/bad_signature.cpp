// SPDX-License-Identifier: BSD-3-Clause
// refused: completion_signatures takes set_value_t\(Values...\), set_error_t\(Error\) and set_stopped_t\(\)
#include <thence/exec.hpp>

namespace ex = thence::exec;

#ifdef MENDED
ex::completion_signatures<ex::set_value_t(int)> completions;
#else
ex::completion_signatures<int> completions;
#endif

int main() {
    (void)completions;
}
