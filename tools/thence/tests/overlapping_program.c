/* SPDX-License-Identifier: BSD-3-Clause */
/* An MPI program that knows nothing of Thence: each rank exchanges messages with its neighbor, and computes meanwhile.
   usage: overlapping_program ROUNDS MILLISECONDS BYTES */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static double compute(double seconds) {
    double sum = 0;
    for (double end = MPI_Wtime() + seconds; MPI_Wtime() < end;) {
        for (int i = 1; i < 1000; ++i) {
            sum += 1.0 / i;
        }
    }
    return sum;
}

int main(int argc, char **argv) {
    int rank, ranks;
    if (argc != 4) {
        fputs("usage: overlapping_program ROUNDS MILLISECONDS BYTES\n", stderr);
        return 2;
    }
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const int bytes = atoi(argv[3]), next = (rank + 1) % ranks, previous = (rank + ranks - 1) % ranks;
    char *in = calloc(bytes, 1), *out = calloc(bytes, 1);
    double sum = 0;
    int wrong = 0;
    for (int round = 1; round <= atoi(argv[1]); ++round) {
        MPI_Request requests[2];
        out[0] = out[bytes - 1] = (char)round;
        MPI_Irecv(in, bytes, MPI_BYTE, previous, 0, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(out, bytes, MPI_BYTE, next, 0, MPI_COMM_WORLD, &requests[1]);
        sum += compute(atof(argv[2]) / 1000);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        wrong += in[0] != (char)round || in[bytes - 1] != (char)round;
    }
    MPI_Finalize();
    free(in);
    free(out);
    return wrong != 0 || sum == 0 ? 1 : 0;
}
