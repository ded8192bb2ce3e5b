// SPDX-License-Identifier: BSD-3-Clause
// refused: thence::as_bytes<T> = true
#include <thence/mpi.hpp>

class handle {
public:
    explicit handle(int *p) : p_(p) {}

private:
    int *p_;
};

#ifdef MENDED
template <> inline constexpr bool thence::as_bytes<handle> = true;
#endif

void use(const thence::communicator &comm, handle h) {
    thence::sync_wait(comm.send(h, 1));
}
