// SPDX-License-Identifier: BSD-3-Clause
// refused: declare the receiver.s set_value noexcept
#include <thence/exec.hpp>

namespace ex = thence::exec;

struct receiver {
    using receiver_concept = ex::receiver_t;
#ifdef MENDED
    void set_value() &&noexcept {}
#else
    void set_value() && {}
#endif
};

int main() {
    auto operation = ex::connect(ex::just(), receiver());
    ex::start(operation);
}
