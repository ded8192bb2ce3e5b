/* SPDX-License-Identifier: BSD-3-Clause */
/* Qthreads: many qthreads per rank each pass a token round the ring with MPI_Recv and MPI_Send. A qthread that waits is
 * blocked, and its worker runs the others. The helper thread of the library makes progress.
 * Usage: mpirun -n N qthreads_ring (any N, no arguments). Link thence and Qthreads. */
#define _POSIX_C_SOURCE 200809L /* setenv */
#include <stdio.h>
#include <stdlib.h>

#include <thence/qthreads.h>

enum { qthreads_per_rank = 200, laps = 5 };

typedef struct lane {
    int number;
    int rank, size;
    int right; /* true if the token came back with the right value after each lap */
} lane;

/* Every rank adds its number to the token. After each lap rank 0 checks the sum. */
static aligned_t run_lane(void *data) {
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
    return 0;
}

int main(int argc, char **argv) {
    int level, rank, size, right = 0;
    MPI_Request cr;
    static aligned_t ended[qthreads_per_rank];
    static lane lanes[qthreads_per_rank];
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (level < MPI_THREAD_MULTIPLE) {
        fputs("this MPI does not provide MPI_THREAD_MULTIPLE\n", stderr);
        MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    }
    setenv("QT_STACK_SIZE", "131072", 0); /* MPI may need more than the 32 KiB that Qthreads gives */
    setenv("QT_NUM_SHEPHERDS", "2", 0);   /* by default as many workers as there are cores */
    setenv("QT_NUM_WORKERS_PER_SHEPHERD", "1", 0);
    qthread_initialize();
    thence_cr_create(THENCE_CR_ANY_THREAD, -1, MPI_INFO_NULL, &cr);
    thence_task_runtime_add(thence_qthreads_task_runtime());
    thence_task_blocking_calls(cr);
    for (int i = 0; i < qthreads_per_rank; ++i) {
        lanes[i] = (lane){.number = i, .rank = rank, .size = size};
        if (qthread_fork(run_lane, &lanes[i], &ended[i]) != QTHREAD_SUCCESS) {
            MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
        }
    }
    for (int i = 0; i < qthreads_per_rank; ++i) {
        qthread_readFF(NULL, &ended[i]); /* joins it */
        right += lanes[i].right;
    }
    thence_task_blocking_calls(MPI_REQUEST_NULL);
    thence_task_runtime_remove(thence_qthreads_task_runtime());
    thence_free(&cr);
    qthread_finalize();
    if (rank == 0) {
        printf("%d of %d tokens are right after %d laps\n", right, (int)qthreads_per_rank, (int)laps);
    }
    MPI_Finalize();
    return right == qthreads_per_rank ? EXIT_SUCCESS : EXIT_FAILURE;
}
