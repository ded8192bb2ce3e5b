/* SPDX-License-Identifier: BSD-3-Clause */
/* A stream for each thread: four threads of rank 0 send 100 characters each to those of rank 1, each on a communicator
 * of its own stream, so they never meet in MPI. From Zhou et al., "Designing and Prototyping Extensions to MPI in
 * MPICH".
 * Usage: mpirun -n N streams (any N, no arguments). Link thence::core and a library of threads. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <thence/mpix.h>

enum { threads = 4, characters = 100 };

typedef struct lane {
    int number, rank, size;
    MPI_Comm comm;
    char buffer[characters];
} lane;

static void *run_lane(void *data) {
    lane *self = data;
    if (self->rank == 0 && self->size > 1) {
        memset(self->buffer, 'a' + self->number, characters);
        MPI_Send(self->buffer, characters, MPI_CHAR, 1, 0, self->comm);
    } else if (self->rank == 1) {
        MPI_Recv(self->buffer, characters, MPI_CHAR, 0, 0, self->comm, MPI_STATUS_IGNORE);
    }
    return NULL;
}

int main(int argc, char **argv) {
    int level = 0;
    int right = 1;
    lane lanes[threads] = {0};
    pthread_t team[threads];
    MPIX_Stream streams[threads];
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    if (level < MPI_THREAD_MULTIPLE) {
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    for (int i = 0; i < threads; ++i) {
        lanes[i].number = i;
        MPI_Comm_rank(MPI_COMM_WORLD, &lanes[i].rank);
        MPI_Comm_size(MPI_COMM_WORLD, &lanes[i].size);
        MPIX_Stream_create(MPI_INFO_NULL, &streams[i]);
        MPIX_Stream_comm_create(MPI_COMM_WORLD, streams[i], &lanes[i].comm);
    }
    for (int i = 0; i < threads; ++i) {
        pthread_create(&team[i], NULL, &run_lane, &lanes[i]);
    }
    for (int i = 0; i < threads; ++i) {
        pthread_join(team[i], NULL);
        if (lanes[i].rank == 1) {
            right = right && lanes[i].buffer[0] == 'a' + i && lanes[i].buffer[characters - 1] == 'a' + i;
            printf("thread %d received %.3s...\n", i, lanes[i].buffer);
        }
        MPI_Comm_free(&lanes[i].comm);
        MPIX_Stream_free(&streams[i]);
    }
    MPI_Finalize();
    return right ? EXIT_SUCCESS : EXIT_FAILURE;
}
