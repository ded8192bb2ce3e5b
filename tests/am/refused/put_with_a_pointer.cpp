// SPDX-License-Identifier: BSD-3-Clause
// refused: async_put: the payload is a pointer or a view: pass a value
// errors: 1
#include <thence/am.hpp>

auto use(const thence::active_messages &am, const thence_am_memory &to, std::span<double, 8> from) {
#ifdef MENDED
    return am.async_put(from, to, 0, 1, from[0]);
#else
    return am.async_put(from, to, 0, 1, from.data());
#endif
}
