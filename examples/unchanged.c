/* SPDX-License-Identifier: BSD-3-Clause */
/* A program that knows nothing of Thence: each rank starts a large message to the next, computes for as long as it is
 * told, and waits. MPI moves large messages only inside its calls, so without help the wait is long. Run it with
 *
 *     mpirun -n 2 thence run --progress -- unchanged
 *
 * usage: unchanged [ROUNDS MILLISECONDS BYTES [OPERATION [LABEL TIMELINE]]]: OPERATION is `message`, or `alltoall` for
 * MPI_Ialltoall. Writes when each rank computed and waited to the file TIMELINE, in the form that apps/heat/plot.py
 * draws.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { computes, starts, waits, fields = 3 }; /* of a span: what, begin and end in microseconds */

static double compute(double seconds) {
    double sum = 0;
    for (double end = MPI_Wtime() + seconds; MPI_Wtime() < end;) {
        for (int i = 1; i < 1000; ++i) {
            sum += 1.0 / i;
        }
    }
    return sum;
}

/* Rank 0 writes the spans of all ranks, `count` of each. */
static int write_timeline(const char *name, const char *label, const double *spans, int count, int ranks) {
    FILE *file = fopen(name, "w");
    if (file == NULL) {
        perror(name);
        return 1;
    }
    fprintf(
        file,
        "{\"variant\":\"%s\",\"ranks\":%d,\"threads\":1,\"activities\":[\"compute\",\"start\",\"wait\",\"poll\"],\n",
        label, ranks);
    fputs("\"span_fields\":[\"rank\",\"lane\",\"activity\",\"begin_us\",\"end_us\",\"iteration\",\"row\",\"col\"],\n"
          "\"message_fields\":[\"rank\",\"lane\",\"sent\",\"down\",\"peer\",\"iteration\",\"col\",\"cells\",\"started_"
          "us\","
          "\"complete_us\"],\n\"messages\":[],\n\"spans\":[",
          file);
    for (int i = 0; i < ranks * count; ++i) {
        const double *span = spans + (size_t)i * fields;
        fprintf(file, "%s[%d,0,%d,%.3f,%.3f,%d,0,0]", i == 0 ? "\n" : ",\n", i / count, (int)span[0],
                span[1] - spans[1], span[2] - spans[1], i % count / 3);
    }
    fputs("]}\n", file);
    return fclose(file);
}

static int shorter(const void *a, const void *b) {
    const double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

/* Half of the rounds took at most so many microseconds on this rank. */
static double median_round(const double *spans, int rounds) {
    double *each = calloc((size_t)rounds, sizeof(double));
    for (int round = 0; round < rounds; ++round) {
        const double *span = spans + (size_t)round * 3 * fields;
        each[round] = span[2 * fields + 2] - span[1];
    }
    qsort(each, (size_t)rounds, sizeof(double), shorter);
    const double median = each[rounds / 2];
    free(each);
    return median;
}

int main(int argc, char **argv) {
    int rank, ranks, wrong = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const int rounds = argc > 3 ? atoi(argv[1]) : 5, bytes = argc > 3 ? atoi(argv[3]) : 1 << 20;
    const double milliseconds = argc > 3 ? atof(argv[2]) : 5;
    const int alltoall = argc > 4 && strcmp(argv[4], "alltoall") == 0;
    if (rounds < 1 || bytes < 1 || (argc != 1 && argc != 4 && argc != 5 && argc != 7) ||
        (argc > 4 && !alltoall && strcmp(argv[4], "message") != 0)) {
        fputs("usage: unchanged [ROUNDS MILLISECONDS BYTES [message|alltoall [LABEL TIMELINE]]]\n", stderr);
        MPI_Abort(MPI_COMM_WORLD, 2);
        return 2;
    }
    const int next = (rank + 1) % ranks, previous = (rank + ranks - 1) % ranks, count = 3 * rounds;
    const size_t blocks = alltoall ? (size_t)ranks : 1;
    char *in = calloc(blocks, (size_t)bytes), *out = calloc(blocks, (size_t)bytes);
    /* What the next rank gets, and what comes from the previous one. */
    char *gives = out + (alltoall ? (size_t)next * (size_t)bytes : 0);
    const char *got = in + (alltoall ? (size_t)previous * (size_t)bytes : 0);
    double *spans = calloc((size_t)count * fields, sizeof(double)), sum = 0, waited = 0, longest = 0;
    double *all = rank == 0 ? calloc((size_t)ranks * (size_t)count * fields, sizeof(double)) : NULL;
    MPI_Barrier(MPI_COMM_WORLD);
    const double origin = MPI_Wtime();
    for (int round = 0; round < rounds; ++round) {
        MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
        double at[4];
        gives[0] = gives[bytes - 1] = (char)round;
        at[0] = MPI_Wtime();
        if (alltoall) {
            MPI_Ialltoall(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, MPI_COMM_WORLD, &requests[0]);
        } else {
            MPI_Irecv(in, bytes, MPI_BYTE, previous, 0, MPI_COMM_WORLD, &requests[0]);
            MPI_Isend(out, bytes, MPI_BYTE, next, 0, MPI_COMM_WORLD, &requests[1]);
        }
        at[1] = MPI_Wtime();
        sum += compute(milliseconds / 1000);
        at[2] = MPI_Wtime();
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        at[3] = MPI_Wtime();
        waited += at[3] - at[2];
        wrong += got[0] != (char)round || got[bytes - 1] != (char)round;
        const int what[] = {starts, computes, waits};
        for (int i = 0; i < 3; ++i) {
            double *span = spans + ((size_t)3 * (size_t)round + (size_t)i) * fields;
            span[0] = what[i];
            span[1] = 1e6 * at[i];
            span[2] = 1e6 * at[i + 1];
        }
    }
    const double lasted = MPI_Wtime() - origin;
    MPI_Reduce(&waited, &longest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    MPI_Gather(spans, count * fields, MPI_DOUBLE, all, count * fields, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        printf("%d rounds lasted %.1f ms, of which a rank waited %.1f ms; half of the rounds took %.1f us at most\n",
               rounds, 1000 * lasted, 1000 * longest, median_round(spans, rounds));
        wrong += argc > 6 ? write_timeline(argv[6], argv[5], all, count, ranks) != 0 : 0;
    }
    MPI_Finalize();
    free(in);
    free(out);
    free(spans);
    free(all);
    return wrong != 0 || (sum == 0 && milliseconds > 0);
}
