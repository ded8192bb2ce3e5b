/* SPDX-License-Identifier: BSD-3-Clause
 * Quickstart: each rank sends its number to the right. When the message from the left has arrived, a callback runs.
 * Usage: mpirun -n N quickstart (any N, no arguments). Link thence-core or thence. */
#include <stdio.h>
#include <stdlib.h>

#include <thence/thence.h>

typedef struct message {
    int value;
    int expected;
    int calls;
} message;

/* Runs once, when both the send and the receive are complete. statuses[0] is that of the receive. */
static int arrived(int error, MPI_Status *statuses, void *data) {
    message *m = data;
    m->calls += 1;
    printf("rank %d says hello to its right neighbour\n", m->value);
    if (error != MPI_SUCCESS || statuses[0].MPI_SOURCE != m->expected) {
        m->value = -1;
    }
    return MPI_SUCCESS;
}

int main(int argc, char **argv) {
    int rank, size, flag;
    MPI_Request cr, requests[2];
    MPI_Status statuses[2]; /* must stay valid until the callback has run; thence_wait() below ensures that */
    message m = {-1, 0, 0};

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    m.expected = (rank + size - 1) % size;

    /* 1. Create a continuation request (CR), with which continuations are registered. */
    thence_cr_create(0, -1, MPI_INFO_NULL, &cr);

    /* 2. Start operations as usual, and attach one continuation to both. From then on the library owns the requests. */
    MPI_Irecv(&m.value, 1, MPI_INT, m.expected, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(&rank, 1, MPI_INT, (rank + 1) % size, 0, MPI_COMM_WORLD, &requests[1]);
    thence_attach(2, requests, arrived, &m, 0, statuses, cr, &flag);
    if (flag) { /* both are complete already, so the callback will not run */
        arrived(MPI_SUCCESS, statuses, &m);
    }

    /* 3. Compute. The callback runs in an MPI call of any thread, at the latest in this wait for the CR. */
    thence_wait(&cr, MPI_STATUS_IGNORE);

    thence_free(&cr);
    int ok = m.calls == 1 && m.value == m.expected;
    if (!ok) {
        fprintf(stderr, "rank %d: %d calls, value %d instead of %d\n", rank, m.calls, m.value, m.expected);
    }
    MPI_Finalize();
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
