/* SPDX-License-Identifier: BSD-3-Clause */
/* POSIX threads in C: several threads per rank each send a token round the ring, and sleep until it comes back. The
 * helper thread of the library makes progress and wakes them.
 * Usage: mpirun -n N pthread_ring (any N, no arguments). Link thence: on MPICH and Intel MPI its thread needs
 * it, elsewhere thence-core does too. */
#include <stdio.h>
#include <stdlib.h>

#include <thence/pthread.h>

enum { threads_per_rank = 3, laps = 20 };

typedef struct lane {
    int number;
    int rank, size;
    MPI_Request cr;
    int right; /* true if the token came back with the right value */
} lane;

/* Every rank adds its number to the token. After each lap rank 0 checks the sum. */
static void *run_lane(void *data) {
    lane *self = data;
    const int left = (self->rank + self->size - 1) % self->size;
    const int right = (self->rank + 1) % self->size;
    const long sum = (long)self->size * (self->size - 1) / 2;
    long token = 1000L * self->number;
    self->right = 1;
    for (int lap = 0; lap < laps && self->right; ++lap) {
        long received = 0;
        MPI_Request requests[2];
        MPI_Status status;
        MPI_Irecv(&received, 1, MPI_LONG, left, self->number, MPI_COMM_WORLD, &requests[0]);
        if (self->rank != 0) {
            self->right = thence_pthread_block(1, &requests[0], &status, self->cr) == MPI_SUCCESS;
        }
        token = self->rank == 0 ? token : received + self->rank;
        MPI_Isend(&token, 1, MPI_LONG, right, self->number, MPI_COMM_WORLD, &requests[1]);
        if (self->rank != 0) {
            thence_pthread_block(1, &requests[1], MPI_STATUSES_IGNORE, self->cr);
        } else {
            MPI_Status statuses[2];
            self->right = thence_pthread_block(2, requests, statuses, self->cr) == MPI_SUCCESS &&
                          statuses[0].MPI_SOURCE == left && received == token + sum;
            token = received;
        }
    }
    return NULL;
}

int main(int argc, char **argv) {
    int level, rank, size, right = 0;
    MPI_Request cr;
    pthread_t threads[threads_per_rank];
    lane lanes[threads_per_rank];
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (level < MPI_THREAD_MULTIPLE) {
        fputs("this MPI does not provide MPI_THREAD_MULTIPLE\n", stderr);
        MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    }
    thence_cr_create(THENCE_CR_ANY_THREAD, -1, MPI_INFO_NULL, &cr);
    for (int i = 0; i < threads_per_rank; ++i) {
        lanes[i] = (lane){.number = i, .rank = rank, .size = size, .cr = cr};
        if (pthread_create(&threads[i], NULL, run_lane, &lanes[i]) != 0) {
            MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
        }
    }
    for (int i = 0; i < threads_per_rank; ++i) {
        pthread_join(threads[i], NULL);
        right += lanes[i].right;
    }
    thence_free(&cr);
    if (rank == 0) {
        printf("%d of %d tokens are right after %d laps\n", right, (int)threads_per_rank, (int)laps);
    }
    MPI_Finalize();
    return right == threads_per_rank ? EXIT_SUCCESS : EXIT_FAILURE;
}
