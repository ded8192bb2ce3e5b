/* SPDX-License-Identifier: BSD-3-Clause */
/* Waits for the continuation request with MPI's own calls: they must reach the library, not MPI. */
#include "ring.h"

int main(int argc, char **argv) {
    MPI_Request cr;
    int number, received = -1, done = 0;
    CHECK(MPI_Init(&argc, &argv));
    int expected = start_ring(&cr, &number, &received);
    while (!done) {
        CHECK(MPI_Test(&cr, &done, MPI_STATUS_IGNORE));
    }
    CHECK(MPI_Request_free(&cr));
    return finish_ring(expected, received);
}
