/* SPDX-License-Identifier: BSD-3-Clause
 * MPI Continuations with the signatures of Schuchart et al. 2021: a ring all-gather. The continuation of
 * each hop starts the next one, and the main program only waits for the continuation request. Usage:
 * mpirun -n N mpix_continue (any N, no arguments). Link thence, so that MPI_Wait takes the CR. */
#include <stdio.h>
#include <stdlib.h>

#include <thence/mpix_continue.h>

typedef struct gather {
    int rank, size, hop;
    int *values; /* values[i] is the contribution of rank i */
    MPI_Request cr;
} gather;

static void hop_done(MPI_Status *statuses, void *data);

/* Start the next hop: send the value that was received last. Returns 1 if the hop is complete already. */
static int start_hop(gather *g) {
    int send = (g->rank - g->hop + g->size) % g->size;
    int receive = (send - 1 + g->size) % g->size;
    int flag;
    MPI_Request requests[2];
    MPI_Irecv(&g->values[receive], 1, MPI_INT, (g->rank - 1 + g->size) % g->size, g->hop, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(&g->values[send], 1, MPI_INT, (g->rank + 1) % g->size, g->hop, MPI_COMM_WORLD, &requests[1]);
    MPIX_Continueall(2, requests, &flag, hop_done, g, MPI_STATUSES_IGNORE, g->cr);
    return flag;
}

/* Start hops until all are done or one is pending. The loop is needed since a hop that is complete already runs no
 * callback. */
static void advance(gather *g) {
    while (g->hop < g->size - 1 && start_hop(g)) {
        g->hop += 1;
    }
}

static void hop_done(MPI_Status *statuses, void *data) {
    gather *g = data;
    (void)statuses;
    g->hop += 1;
    advance(g);
}

int main(int argc, char **argv) {
    gather g = {0, 0, 0, NULL, MPI_REQUEST_NULL};
    int wrong = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &g.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &g.size);
    g.values = malloc((size_t)g.size * sizeof *g.values);
    if (g.values == NULL) {
        MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
        return EXIT_FAILURE;
    }
    for (int i = 0; i < g.size; ++i) {
        g.values[i] = -1;
    }
    g.values[g.rank] = 100 + g.rank;

    MPIX_Continue_init(&g.cr, MPI_INFO_NULL);
    advance(&g);
    MPI_Wait(&g.cr, MPI_STATUS_IGNORE); /* also waits for continuations that continuations register */
    MPI_Request_free(&g.cr);

    for (int i = 0; i < g.size; ++i) {
        wrong += g.values[i] != 100 + i;
    }
    if (wrong > 0) {
        fprintf(stderr, "rank %d: %d of %d values are wrong\n", g.rank, wrong, g.size);
    } else if (g.rank == 0) {
        printf("gathered %d values in %d hops\n", g.size, g.hop);
    }
    free(g.values);
    MPI_Finalize();
    return wrong == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
