/* SPDX-License-Identifier: BSD-3-Clause
 * A thread communicator in an OpenMP parallel region: each of the 4 threads of each process is a rank. They add their
 * ranks up, and rank 0 collects a message of each with wildcards. Usage: mpirun -n N threadcomm (any N, no arguments).
 * Compile with -fopenmp and link thence. */
#include <stdio.h>
#include <stdlib.h>

#include <omp.h>
#include <thence/mpix.h>

enum { threads = 4 };

int main(int argc, char **argv) {
    int provided = 0, failed = 0;
    MPI_Comm comm;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPIX_Threadcomm_init(MPI_COMM_WORLD, threads, &comm);

#pragma omp parallel num_threads(threads) reduction(+ : failed)
    {
        int rank = -1, size = -1, sum = -1;
        MPIX_Threadcomm_start(comm);
        MPI_Comm_rank(comm, &rank);
        MPI_Comm_size(comm, &size);
        MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
        failed += sum != size * (size - 1) / 2 || rank % threads != omp_get_thread_num();
        if (rank != 0) {
            MPI_Send(&sum, 1, MPI_INT, 0, rank, comm);
        }
        for (int i = 1; rank == 0 && i < size; ++i) {
            int value = -1;
            MPI_Status status;
            MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &status);
            failed += value != sum || status.MPI_SOURCE != status.MPI_TAG;
        }
        if (rank == 0) {
            printf("%d ranks, the sum of their numbers is %d\n", size, sum);
        }
        MPIX_Threadcomm_finish(comm);
    }

    MPIX_Threadcomm_free(&comm);
    MPI_Finalize();
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
