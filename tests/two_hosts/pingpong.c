// SPDX-License-Identifier: BSD-3-Clause
// Rank 0 prints the median time of a message of 8 B from rank 0 to the last rank and back, in microseconds, and the
// names of the hosts of both.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { rounds = 41, warm_up = 10 };

static int ascending(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank, ranks, length;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    char here[MPI_MAX_PROCESSOR_NAME] = "", there[MPI_MAX_PROCESSOR_NAME] = "";
    MPI_Get_processor_name(here, &length);
    const int last = ranks - 1;
    double took[rounds];
    for (int i = -warm_up; i < rounds; ++i) {
        long value = i;
        const double begin = MPI_Wtime();
        if (rank == 0) {
            MPI_Send(&value, 1, MPI_LONG, last, 0, MPI_COMM_WORLD);
            MPI_Recv(&value, 1, MPI_LONG, last, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            if (value != i + 1000L) {
                MPI_Abort(MPI_COMM_WORLD, 1);
            }
        } else if (rank == last) {
            MPI_Recv(&value, 1, MPI_LONG, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            value += 1000;
            MPI_Send(&value, 1, MPI_LONG, 0, 0, MPI_COMM_WORLD);
        }
        if (i >= 0) {
            took[i] = 1e6 * (MPI_Wtime() - begin);
        }
    }
    if (rank == last) {
        MPI_Send(here, MPI_MAX_PROCESSOR_NAME, MPI_CHAR, 0, 1, MPI_COMM_WORLD);
    }
    if (rank == 0) {
        MPI_Recv(there, MPI_MAX_PROCESSOR_NAME, MPI_CHAR, last, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        qsort(took, rounds, sizeof *took, ascending);
        printf("%.1f %.1f %.1f us between %s and %s\n", took[rounds / 10], took[rounds / 2], took[rounds * 9 / 10],
               here, there);
    }
    MPI_Finalize();
    return 0;
}
