/* SPDX-License-Identifier: BSD-3-Clause
 * A ring of callbacks: a token goes from rank to rank several times, each time sent on by the callback of its receive.
 * Each rank checks how often its callback ran, that its variables are its own, and that the engine is testsome without
 * a helper thread. Rank 0 prints the simulated time, which a test compares between two runs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <thence/thence.h>

enum { rounds = 5 };

static int calls; /* of this rank: SMPI gives each rank its own copy */
static _Thread_local int last_token = -1;
static int rank, size, token;
static MPI_Request cr;

static int arrived(int error, MPI_Status *statuses, void *data);

static void receive(void) {
    MPI_Request request;
    MPI_Irecv(&token, 1, MPI_INT, (rank + size - 1) % size, 0, MPI_COMM_WORLD, &request);
    thence_attach(1, &request, arrived, NULL, 0, MPI_STATUSES_IGNORE, cr, NULL);
}

static int arrived(int error, MPI_Status *statuses, void *data) {
    (void)error, (void)statuses, (void)data;
    calls += 1;
    last_token = token;
    int last = rank == 0 && calls == rounds;
    int next = token + 1;
    if (!last) {
        MPI_Send(&next, 1, MPI_INT, (rank + 1) % size, 0, MPI_COMM_WORLD);
    }
    if (calls < rounds) {
        receive();
    }
    return MPI_SUCCESS;
}

int main(int argc, char **argv) {
    thence_info info;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    thence_cr_create(THENCE_CR_ENQUEUE_COMPLETE, -1, MPI_INFO_NULL, &cr);
    thence_query(&info, sizeof info);
    receive();
    if (rank == 0) {
        int first = 0;
        MPI_Send(&first, 1, MPI_INT, 1 % size, 0, MPI_COMM_WORLD);
    }
    thence_wait(&cr, MPI_STATUS_IGNORE);
    thence_free(&cr);
    /* The token counts the messages before this one. */
    int expected = (rounds - 1) * size + (rank + size - 1) % size;
    int ok = calls == rounds && last_token == expected && strcmp(info.engine, "testsome") == 0;
    if (!ok) {
        fprintf(stderr, "rank %d: %d calls, token %d instead of %d, engine %s\n", rank, calls, last_token, expected,
                info.engine);
    }
    if (rank == 0) {
        printf("simulated time %.9f s\n", MPI_Wtime());
    }
    MPI_Finalize();
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
