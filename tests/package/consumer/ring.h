/* SPDX-License-Identifier: BSD-3-Clause */
/* Each rank sends its number to the next one; the continuation of the receive says that it came. */
#ifndef RING_H
#define RING_H
#include <stdio.h>
#include <stdlib.h>
#include <thence/thence.h>

static int check(int got, const char *call) {
    if (got != MPI_SUCCESS) {
        fprintf(stderr, "%s returned %d\n", call, got);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return got;
}
#define CHECK(call) check(call, #call)

static int calls = 0;

static int on_complete(int error, MPI_Status *statuses, void *data) {
    (void)statuses;
    *(int *)data += error == MPI_SUCCESS ? 100 : 0;
    ++calls;
    return MPI_SUCCESS;
}

/* Starts the exchange with its continuation; `received` is 100 more than the number of the previous rank afterwards. */
static int start_ring(MPI_Request *cr, int *number, int *received) {
    int rank, size, flag;
    MPI_Request both[2];
    CHECK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    CHECK(MPI_Comm_size(MPI_COMM_WORLD, &size));
    *number = rank;
    CHECK(thence_cr_create(THENCE_CR_ENQUEUE_COMPLETE, -1, MPI_INFO_NULL, cr));
    CHECK(MPI_Irecv(received, 1, MPI_INT, (rank + size - 1) % size, 0, MPI_COMM_WORLD, &both[0]));
    CHECK(MPI_Isend(number, 1, MPI_INT, (rank + 1) % size, 0, MPI_COMM_WORLD, &both[1]));
    CHECK(thence_attach(2, both, on_complete, received, 0, MPI_STATUSES_IGNORE, *cr, &flag));
    if (flag != 0 || both[0] != MPI_REQUEST_NULL || both[1] != MPI_REQUEST_NULL) {
        fprintf(stderr, "thence_attach left flag %d or a request\n", flag);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return (rank + size - 1) % size + 100;
}

static int finish_ring(int expected, int received) {
    MPI_Finalize();
    if (calls != 1 || received != expected) {
        fprintf(stderr, "callback ran %d times, received %d, expected %d\n", calls, received, expected);
        return EXIT_FAILURE;
    }
    return EXIT_SUCCESS;
}
#endif
