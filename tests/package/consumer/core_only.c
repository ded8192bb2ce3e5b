/* SPDX-License-Identifier: BSD-3-Clause */
/* Waits with the library's own call; nothing of MPI is interposed. */
#include "ring.h"

int main(int argc, char **argv) {
    MPI_Request cr;
    int number, received = -1;
    CHECK(MPI_Init(&argc, &argv));
    int expected = start_ring(&cr, &number, &received);
    CHECK(thence_wait(&cr, MPI_STATUS_IGNORE));
    CHECK(thence_free(&cr));
    return finish_ring(expected, received);
}
