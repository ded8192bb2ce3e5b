/* SPDX-License-Identifier: BSD-3-Clause */
/* A distributed set of numbers. Each process owns those that are its rank modulo the number of processes. Whoever finds
 * a number sends it to its owner, who sends on what follows from it: nobody knows beforehand how many messages there
 * will be. (The numbers that are reached from 1 by n -> 2n and n -> 3n + 1, up to a limit.) */
#include <stdio.h>
#include <stdlib.h>
#include <thence/am.h>

enum { limit = 20000, found = 0 };

struct owner {
    int size;
    char *has; /* of each number whether it was reached */
    int count;
};

static int reached(const thence_am_message *message, void *data) {
    struct owner *self = data;
    const int n = *(const int *)message->payload;
    if (!self->has[n]) {
        self->has[n] = 1;
        ++self->count;
        const int next[2] = {2 * n, 3 * n + 1};
        for (int i = 0; i < 2; ++i) {
            if (next[i] < limit) {
                thence_am_send(message->am, next[i] % self->size, found, &next[i], sizeof next[i]);
            }
        }
    }
    return MPI_SUCCESS;
}

/* The same without messages. */
static int count_alone(char *has, int n) {
    if (n >= limit || has[n]) {
        return 0;
    }
    has[n] = 1;
    return 1 + count_alone(has, 2 * n) + count_alone(has, 3 * n + 1);
}

int main(int argc, char **argv) {
    int rank, all = 0;
    struct owner self = {0, calloc(limit, 1), 0};
    thence_am am;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &self.size);

    thence_am_create(MPI_COMM_WORLD, NULL, 0, &am);
    thence_am_register(am, found, reached, &self, 0);
    if (rank == 0) {
        const int first = 1;
        thence_am_send(am, first % self.size, found, &first, sizeof first);
    }
    thence_am_quiesce(am); /* until all is handled everywhere, and nothing more is sent */
    thence_am_free(&am);

    MPI_Allreduce(&self.count, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    char *has = calloc(limit, 1);
    const int expected = count_alone(has, 1);
    if (rank == 0) {
        printf("%d numbers are reached, %d were expected\n", all, expected);
    }
    free(has);
    free(self.has);
    MPI_Finalize();
    return all == expected ? 0 : 1;
}
