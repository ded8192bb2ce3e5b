// SPDX-License-Identifier: BSD-3-Clause
// refused: send: this is a pointer or a view: pass std::span\(pointer, count\)
// errors: 1
#include <thence/am.hpp>

void use(const thence::active_messages &am, const double *values) {
#ifdef MENDED
    am.send(1, 0, std::span(values, 8));
#else
    am.send(1, 0, values);
#endif
}
