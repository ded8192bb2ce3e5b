// SPDX-License-Identifier: BSD-3-Clause
// refused: to complete a receiver consumes it: pass it as a non-const rvalue
#include <thence/exec.hpp>

namespace ex = thence::exec;

struct receiver {
    using receiver_concept = ex::receiver_t;
    void set_value() noexcept {}
};

int main() {
    receiver r;
#ifdef MENDED
    ex::set_value(static_cast<receiver &&>(r));
#else
    ex::set_value(r);
#endif
}
