/* SPDX-License-Identifier: BSD-3-Clause
 * A thread communicator after MPI_Init, as in the paper (Zhou et al., "Designing and Prototyping Extensions to MPI in
 * MPICH"). Each thread prints its rank. If the MPI gives too low a thread level, the error is printed and the exit
 * status is 3. */
#include <mpi.h>

#include <thence/mpix.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { threads = 4 };

static MPI_Comm comm;

static void *be_a_rank(void *failed) {
    int rank = -1, size = -1, sum = -1;
    MPIX_Threadcomm_start(comm);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    printf("Rank %d / %d\n", rank, size);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
    *(int *)failed = sum != size * (size - 1) / 2;
    MPIX_Threadcomm_finish(comm);
    return NULL;
}

int main(void) {
    pthread_t thread[threads];
    int failed[threads], sum = 0, code;
    MPI_Init(NULL, NULL);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, thence_errors_return());
    code = MPIX_Threadcomm_init(MPI_COMM_WORLD, threads, &comm);
    if (code != MPI_SUCCESS) {
        char text[MPI_MAX_ERROR_STRING];
        int length = 0;
        MPI_Error_string(code, text, &length);
        printf("%s\n", text);
        MPI_Finalize();
        return 3;
    }
    for (int i = 0; i < threads; ++i) {
        pthread_create(&thread[i], NULL, be_a_rank, &failed[i]);
    }
    for (int i = 0; i < threads; ++i) {
        pthread_join(thread[i], NULL);
        sum += failed[i];
    }
    MPIX_Threadcomm_free(&comm);
    MPI_Finalize();
    return sum == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
