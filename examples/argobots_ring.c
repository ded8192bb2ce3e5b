/* SPDX-License-Identifier: BSD-3-Clause */
/* Argobots: many user-level threads per rank each pass a token round the ring with MPI_Recv and MPI_Send. A ULT that
 * waits is blocked, and its execution stream runs the others. The helper thread of the library makes progress.
 * Usage: mpirun -n N argobots_ring (any N, no arguments). Link thence and Argobots. */
#define _POSIX_C_SOURCE 200809L /* setenv */
#include <stdio.h>
#include <stdlib.h>

#include <thence/argobots.h>

enum { ults_per_rank = 200, streams = 2, laps = 5 };

typedef struct lane {
    int number;
    int rank, size;
    int right; /* true if the token came back with the right value after each lap */
} lane;

/* Every rank adds its number to the token. After each lap rank 0 checks the sum. */
static void run_lane(void *data) {
    lane *self = data;
    const int before = (self->rank + self->size - 1) % self->size;
    const int after = (self->rank + 1) % self->size;
    const long sum = (long)self->size * (self->size - 1) / 2;
    long token = 1000L * self->number;
    self->right = 1;
    for (int lap = 0; lap < laps; ++lap) {
        long received = 0;
        if (self->rank == 0) {
            MPI_Sendrecv(&token, 1, MPI_LONG, after, self->number, &received, 1, MPI_LONG, before, self->number,
                         MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            self->right = self->right && received == token + sum;
            token = received;
        } else {
            MPI_Recv(&received, 1, MPI_LONG, before, self->number, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            received += self->rank;
            MPI_Send(&received, 1, MPI_LONG, after, self->number, MPI_COMM_WORLD);
        }
    }
}

int main(int argc, char **argv) {
    int level, rank, size, right = 0;
    MPI_Request cr;
    ABT_xstream stream[streams];
    ABT_pool pool[streams];
    ABT_thread ult[ults_per_rank];
    static lane lanes[ults_per_rank];
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (level < MPI_THREAD_MULTIPLE) {
        fputs("this MPI does not provide MPI_THREAD_MULTIPLE\n", stderr);
        MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    }
    setenv("ABT_THREAD_STACKSIZE", "131072", 0); /* MPI may need more than the 16 KiB that Argobots gives */
    ABT_init(argc, argv);
    thence_cr_create(THENCE_CR_ANY_THREAD, -1, MPI_INFO_NULL, &cr);
    thence_task_runtime_add(thence_argobots_task_runtime());
    thence_task_blocking_calls(cr);
    ABT_self_get_xstream(&stream[0]);
    for (int i = 1; i < streams; ++i) {
        ABT_xstream_create(ABT_SCHED_NULL, &stream[i]);
    }
    for (int i = 0; i < streams; ++i) {
        ABT_xstream_get_main_pools(stream[i], 1, &pool[i]);
    }
    for (int i = 0; i < ults_per_rank; ++i) {
        lanes[i] = (lane){.number = i, .rank = rank, .size = size};
        if (ABT_thread_create(pool[i % streams], run_lane, &lanes[i], ABT_THREAD_ATTR_NULL, &ult[i]) != ABT_SUCCESS) {
            MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
        }
    }
    for (int i = 0; i < ults_per_rank; ++i) {
        ABT_thread_free(&ult[i]); /* joins it */
        right += lanes[i].right;
    }
    thence_task_blocking_calls(MPI_REQUEST_NULL);
    thence_task_runtime_remove(thence_argobots_task_runtime());
    thence_free(&cr);
    for (int i = 1; i < streams; ++i) {
        ABT_xstream_join(stream[i]);
        ABT_xstream_free(&stream[i]);
    }
    ABT_finalize();
    if (rank == 0) {
        printf("%d of %d tokens are right after %d laps\n", right, (int)ults_per_rank, (int)laps);
    }
    MPI_Finalize();
    return right == ults_per_rank ? EXIT_SUCCESS : EXIT_FAILURE;
}
