// SPDX-License-Identifier: BSD-3-Clause
// refused: sync_wait: this is not a sender
// errors: 1
#include <thence/transform_mpi.hpp>

namespace ex = thence::ex;

void use() {
#ifdef MENDED
    thence::sync_wait(ex::just(1));
#else
    thence::sync_wait(1);
#endif
}
