/* SPDX-License-Identifier: BSD-3-Clause
 * Ping-pong in which the continuation sends the reply. No rank waits for a single message; both wait for the last one.
 * Usage: mpirun -n N pingpong_reply (N >= 2; ranks form pairs; the last rank of an odd number does nothing). Link
 * thence-core or thence. */
#include <stdio.h>
#include <stdlib.h>

#include <thence/thence.h>

enum { rounds = 1000 };

typedef struct player {
    int peer, replies;
    int received, sent; /* buffers */
    int errors;
    MPI_Request cr;
} player;

static int reply(int error, MPI_Status *statuses, void *data);

/* Send `value` unless it is 0, and post the next receive unless `value` is the last one. */
static void play(player *p, int value) {
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL}; /* a null request is complete */
    p->sent = value;
    if (value > 0) {
        MPI_Isend(&p->sent, 1, MPI_INT, p->peer, 0, MPI_COMM_WORLD, &requests[0]);
    }
    if (value < 2 * rounds) {
        MPI_Irecv(&p->received, 1, MPI_INT, p->peer, 0, MPI_COMM_WORLD, &requests[1]);
    }
    /* The CR has THENCE_CR_ENQUEUE_COMPLETE, so the callback always runs, and no flag is needed. */
    thence_attach(2, requests, reply, p, 0, MPI_STATUSES_IGNORE, p->cr, NULL);
}

/* Runs when the send and the receive are complete. */
static int reply(int error, MPI_Status *statuses, void *data) {
    player *p = data;
    (void)statuses;
    p->errors += error != MPI_SUCCESS;
    if (p->sent == 2 * rounds) {
        return MPI_SUCCESS;
    }
    p->errors += p->received != p->sent + 1;
    p->replies += 1;
    if (p->received < 2 * rounds) {
        play(p, p->received + 1);
    }
    return MPI_SUCCESS;
}

int main(int argc, char **argv) {
    int rank, size, ok = 1;
    player p = {0, 0, 0, 0, 0, MPI_REQUEST_NULL};

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    p.peer = rank ^ 1;
    if (p.peer < size) {
        thence_cr_create(THENCE_CR_ENQUEUE_COMPLETE, -1, MPI_INFO_NULL, &p.cr);
        double start = MPI_Wtime();
        play(&p, rank % 2 == 0 ? 1 : 0); /* even ranks send first, odd ranks receive first */
        thence_wait(&p.cr, MPI_STATUS_IGNORE);
        double seconds = MPI_Wtime() - start;
        thence_free(&p.cr);
        ok = p.errors == 0 && p.replies == rounds;
        if (!ok) {
            fprintf(stderr, "rank %d: %d of %d replies, %d errors\n", rank, p.replies, rounds, p.errors);
        } else if (rank == 0) {
            printf("%d rounds, %.2f us per message\n", rounds, seconds / rounds / 2 * 1e6);
        }
    }
    MPI_Finalize();
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
