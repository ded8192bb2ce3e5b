/* SPDX-License-Identifier: BSD-3-Clause */
/* An MPI program that knows nothing of Thence, unless USES_THENCE is defined: rank 0 reads from a window of rank 1,
   which computes meanwhile.
   usage: windows_program ROUNDS MILLISECONDS IDLE_MILLISECONDS
   Rank 0 prints the milliseconds that ROUNDS accesses took. Then both compute for IDLE_MILLISECONDS, and each prints
   the processor time that other threads of its process have used meanwhile. */
#define _GNU_SOURCE
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#ifdef USES_THENCE
#include <thence/thence.h>
#endif

static double milliseconds_of(int who) {
    struct rusage used;
    getrusage(who, &used);
    return 1e3 * (used.ru_utime.tv_sec + used.ru_stime.tv_sec) + 1e-3 * (used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}
static double of_other_threads(void) {
    return milliseconds_of(RUSAGE_SELF) - milliseconds_of(RUSAGE_THREAD);
}

static void compute(double milliseconds) {
    for (double end = MPI_Wtime() + milliseconds / 1000; MPI_Wtime() < end;) {
    }
}

int main(int argc, char **argv) {
    int rank;
    enum { size = 1024 };
    static double memory[size], got[size];
    MPI_Win window;
    if (argc != 4) {
        fputs("usage: windows_program ROUNDS MILLISECONDS IDLE_MILLISECONDS\n", stderr);
        return 2;
    }
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
#ifdef USES_THENCE
    MPI_Request used;
    thence_cr_create(0, -1, MPI_INFO_NULL, &used);
    thence_free(&used);
#endif
    for (int i = 0; i < size; ++i) {
        memory[i] = 1000 * rank + i;
    }
    MPI_Win_create(memory, sizeof memory, sizeof(double), MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    MPI_Barrier(MPI_COMM_WORLD);
    int wrong = 0;
    if (rank == 1) {
        compute(atof(argv[2]));
    } else if (rank == 0) {
        const double begun = MPI_Wtime();
        MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, window);
        for (int round = 0; round < atoi(argv[1]); ++round) {
            got[size - 1] = 0;
            MPI_Get(got, size, MPI_DOUBLE, 1, 0, size, MPI_DOUBLE, window);
            MPI_Win_flush(1, window);
            wrong += got[size - 1] != 1000 + size - 1;
        }
        MPI_Win_unlock(1, window);
        printf("accesses %.3f ms, wrong %d\n", 1000 * (MPI_Wtime() - begun), wrong);
        fflush(stdout);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    compute(100); /* what came before has ended */
    const double before = of_other_threads();
    compute(atof(argv[3]));
    printf("other threads of rank %d used %.3f ms\n", rank, of_other_threads() - before);
    fflush(stdout);
    MPI_Win_free(&window);
    MPI_Finalize();
    return wrong != 0;
}
