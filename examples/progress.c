/* SPDX-License-Identifier: BSD-3-Clause */
/* Explicit progress: each rank with an odd number computes for a while and makes no call of MPI, and its neighbour
 * reads its memory meanwhile. Without progress on the busy rank, some MPIs let the neighbour wait until the computation
 * ends. Once a thread of the program makes progress, with MPIX_Stream_progress, and once Thence's, which
 * MPIX_Start_progress_thread starts.
 *
 * After "progress.c" of Zhou et al., "Designing and Prototyping Extensions to MPI in MPICH". */

#define _POSIX_C_SOURCE 200809L /* nanosleep */

#include <thence/mpix.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { gets = 1024, busy_ms = 200 };

static atomic_int stop;

static void *progress(void *unused) {
    const struct timespec pause = {0, 20000};
    while (!atomic_load(&stop)) {
        MPIX_Stream_progress(MPIX_STREAM_NULL);
        nanosleep(&pause, NULL);
    }
    return unused;
}

static void compute(void) {
    const struct timespec busy = {0, busy_ms * 1000000L};
    nanosleep(&busy, NULL);
}

/* Returns the seconds that the reads took, or those of the computation. */
static double read_or_compute(MPI_Win win, int rank, int size, int own_thread, int *wrong) {
    double start = MPI_Wtime();
    if (rank % 2 == 1) {
        pthread_t thread;
        atomic_store(&stop, 0);
        if (own_thread) {
            pthread_create(&thread, NULL, progress, NULL);
        } else {
            MPIX_Start_progress_thread(MPIX_STREAM_NULL);
        }
        compute();
        atomic_store(&stop, 1);
        if (own_thread) {
            pthread_join(thread, NULL);
        } else {
            MPIX_Stop_progress_thread(MPIX_STREAM_NULL);
        }
    } else if (rank + 1 < size) {
        MPI_Win_lock(MPI_LOCK_SHARED, rank + 1, 0, win);
        for (int i = 0; i < gets; i++) {
            int value = -1;
            MPI_Get(&value, 1, MPI_INT, rank + 1, i, 1, MPI_INT, win);
            MPI_Win_flush(rank + 1, win);
            *wrong += value != 1000 * (rank + 1) + i;
        }
        MPI_Win_unlock(rank + 1, win);
    }
    return MPI_Wtime() - start;
}

int main(int argc, char **argv) {
    int provided, rank, size, wrong = 0;
    int *memory;
    MPI_Win win;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (provided < MPI_THREAD_MULTIPLE) {
        fprintf(stderr, "this example needs MPI_THREAD_MULTIPLE\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Win_allocate(gets * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    for (int i = 0; i < gets; i++) {
        memory[i] = 1000 * rank + i;
    }
    for (int own_thread = 1; own_thread >= 0; own_thread--) {
        MPI_Barrier(MPI_COMM_WORLD);
        double seconds = read_or_compute(win, rank, size, own_thread, &wrong);
        if (rank == 0 && size > 1) {
            printf("%d reads while the target computes %d ms, with progress by %s: %.1f ms\n", gets, busy_ms,
                   own_thread ? "a thread of the program" : "the progress thread", 1e3 * seconds);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Win_free(&win);
    if (wrong != 0) {
        fprintf(stderr, "rank %d: %d values are wrong\n", rank, wrong);
    }
    MPI_Finalize();
    return wrong == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
