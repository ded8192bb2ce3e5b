// SPDX-License-Identifier: BSD-3-Clause
// refused: has proxies for elements
#include <thence/mpi.hpp>

#include "../mdspan.hpp"

using view = typed_tests::mdspan<double, 2, typed_tests::layout_right>;
struct scaled : view {
    using reference = double; // what operator[] returns: twice the element
};

void use(const thence::communicator &comm, const scaled &s) {
#ifdef MENDED
    thence::sync_wait(comm.send(static_cast<const view &>(s), 1));
#else
    thence::sync_wait(comm.send(s, 1));
#endif
}
