/* SPDX-License-Identifier: BSD-3-Clause */
/* An MPI program that knows nothing of Thence: rank 1 comes late to a call that all ranks make.
   usage: waiting_program CALL MILLISECONDS
   CALL is dup, window, file, recv or finalize. Rank 0 prints the milliseconds of processor time that the call took it. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

static double processor_milliseconds(void) {
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    return 1e3 * (used.ru_utime.tv_sec + used.ru_stime.tv_sec) + 1e-3 * (used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

int main(int argc, char **argv) {
    int rank, data = 0;
    MPI_Comm comm;
    MPI_Win window;
    MPI_File file;
    if (argc != 3) {
        fputs("usage: waiting_program CALL MILLISECONDS\n", stderr);
        return 2;
    }
    const char *call = argv[1];
    const long late = atol(argv[2]);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    const double before = processor_milliseconds();
    if (rank == 1) {
        const struct timespec pause = {late / 1000, late % 1000 * 1000000};
        nanosleep(&pause, NULL);
    }
    if (strcmp(call, "dup") == 0) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        MPI_Comm_free(&comm);
    } else if (strcmp(call, "window") == 0) {
        MPI_Win_create(&data, sizeof data, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
        MPI_Win_free(&window);
    } else if (strcmp(call, "file") == 0) {
        MPI_File_open(MPI_COMM_WORLD, "waiting_program.tmp", MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                      MPI_INFO_NULL, &file);
        MPI_File_close(&file);
    } else if (strcmp(call, "recv") == 0) {
        if (rank == 1) {
            MPI_Send(&data, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
        } else if (rank == 0) {
            MPI_Recv(&data, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
    } else {
        MPI_Finalize();
    }
    if (rank == 0) {
        printf("used %.1f ms\n", processor_milliseconds() - before);
        fflush(stdout);
    }
    if (strcmp(call, "finalize") != 0) {
        MPI_Finalize();
    }
    return 0;
}
