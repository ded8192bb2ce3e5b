// SPDX-License-Identifier: BSD-3-Clause
// refused: the receiver has no `void set_error\(error\) && noexcept` for this error
#include <thence/exec.hpp>

namespace ex = thence::exec;

struct receiver {
    using receiver_concept = ex::receiver_t;
    void set_value() &&noexcept {}
#ifdef MENDED
    void set_error(int) &&noexcept {}
#endif
};

int main() {
    auto operation = ex::connect(ex::just_error(1), receiver());
    ex::start(operation);
}
