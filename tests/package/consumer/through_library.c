/* SPDX-License-Identifier: BSD-3-Clause */
/* The program itself calls nothing that is interposed; a library that was linked with MPI alone does. Its calls must be
 * interposed too, so the linker must not drop libthence as unneeded. */
#include "ring.h"
#include "waiter.h"

int main(int argc, char **argv) {
    MPI_Request cr;
    int number, received = -1;
    CHECK(MPI_Init(&argc, &argv));
    int expected = start_ring(&cr, &number, &received);
    CHECK(wait_elsewhere(&cr));
    CHECK(thence_free(&cr));
    return finish_ring(expected, received);
}
