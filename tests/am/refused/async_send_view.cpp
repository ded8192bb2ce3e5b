// SPDX-License-Identifier: BSD-3-Clause
// refused: async_send: this is a pointer or a view: pass std::span\(pointer, count\)
// errors: 1
#include <thence/am.hpp>

#include <string_view>

auto use(const thence::active_messages &am, std::string_view text) {
#ifdef MENDED
    return am.async_send(1, 0, std::span(text.data(), text.size()));
#else
    return am.async_send(1, 0, text);
#endif
}
