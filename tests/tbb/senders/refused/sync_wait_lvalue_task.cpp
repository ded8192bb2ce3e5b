// SPDX-License-Identifier: BSD-3-Clause
// refused: this sender can be waited for only once: pass it with std::move
// errors: 1
#include <thence/transform_mpi.hpp>

namespace ex = thence::ex;

ex::task<> body();

void use() {
    auto task = body();
#ifdef MENDED
    thence::sync_wait(std::move(task));
#else
    thence::sync_wait(task);
#endif
}
