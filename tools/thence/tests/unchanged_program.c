/* SPDX-License-Identifier: BSD-3-Clause */
/* An MPI program that knows nothing of Thence: nonblocking messages around computation, between each rank and the next.
   usage: unchanged_program [LEVEL [ARGUMENT...]]
   LEVEL is the thread level to ask for, 0 to 3 for MPI's four. Without it, the program calls MPI_Init. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { size = 1 << 18, rounds = 3 };
static double out[size], in[size];

static double compute(void) {
    double sum = 0;
    for (int i = 1; i < 2000000; ++i) {
        sum += 1.0 / i;
    }
    return sum;
}

/* Prints the name of each shared library of Thence in this process once. */
static void print_libraries(void) {
    char line[4096], last[4096] = "";
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps != NULL && fgets(line, sizeof line, maps) != NULL) {
        char *path = strchr(line, '/');
        if (path != NULL && strstr(path, "/libthence") != NULL && strcmp(path, last) != 0) {
            printf("loaded %s", path);
            strcpy(last, path);
        }
    }
    if (maps != NULL) {
        fclose(maps);
    }
}

int main(int argc, char **argv) {
    const int levels[] = {MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED, MPI_THREAD_SERIALIZED, MPI_THREAD_MULTIPLE};
    int provided = 0, told = 0, real = 0, rank = 0, ranks = 0, wrong = 0;
    double sum = 0;
    if (argc > 1) {
        MPI_Init_thread(&argc, &argv, levels[atoi(argv[1]) & 3], &provided);
    } else {
        MPI_Init(&argc, &argv);
    }
    MPI_Query_thread(&told);
    PMPI_Query_thread(&real); /* which nothing is in front of */
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (int round = 0; round < rounds; ++round) {
        MPI_Request requests[2];
        for (int i = 0; i < size; ++i) {
            out[i] = rank + round;
        }
        MPI_Irecv(in, size, MPI_DOUBLE, (rank + ranks - 1) % ranks, 0, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(out, size, MPI_DOUBLE, (rank + 1) % ranks, 0, MPI_COMM_WORLD, &requests[1]);
        sum += compute();
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        for (int i = 0; i < size; ++i) {
            wrong += in[i] != (rank + ranks - 1) % ranks + round;
        }
    }
    MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) {
        for (int i = 0; i < 4; ++i) {
            if (told == levels[i]) {
                printf("level %d\n", i);
            }
            if (real == levels[i]) {
                printf("real level %d\n", i);
            }
        }
        for (int i = 2; i < argc; ++i) {
            printf("argument [%s]\n", argv[i]);
        }
        printf("ranks %d, wrong %d, computed %s\n", ranks, wrong, sum > 0 ? "yes" : "no");
        print_libraries();
    }
    MPI_Finalize();
    return wrong != 0 ? 1 : 7; /* a status that no other program gives */
}
