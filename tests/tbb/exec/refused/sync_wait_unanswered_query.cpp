// SPDX-License-Identifier: BSD-3-Clause
// refused: how the sender completes is not known here
#include <thence/exec.hpp>

namespace ex = thence::exec;

struct color_t {
    template <class Env> auto operator()(const Env &env) const noexcept -> decltype(env.query(*this)) {
        return env.query(*this);
    }
};

int main() {
#ifdef MENDED
    ex::sync_wait(ex::write_env(ex::read_env(color_t()), ex::prop{color_t(), 1}));
#else
    ex::sync_wait(ex::read_env(color_t()));
#endif
}
