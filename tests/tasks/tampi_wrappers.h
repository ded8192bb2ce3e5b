/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef THENCE_TESTS_TAMPI_WRAPPERS_H
#define THENCE_TESTS_TAMPI_WRAPPERS_H

#include <mpi.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The buffers of one task that calls every wrapper once. They live until the task is complete. */
struct wrapper_buffers {
    int one[22];    /* 1 + rank */
    int many[8][8]; /* to each rank: 100 * rank + its rank */
    int got[22][8]; /* what each wrapper received */
    int counts[8];  /* 1 */
    int displs[8];  /* 0, 1, ... */
    int byte_displs[8];
    MPI_Datatype types[8];
    char attached[4096];
    MPI_Status status;
};

void wrapper_prepare(struct wrapper_buffers *b, MPI_Comm comm);
/* Calls every wrapper. The messages go to the next rank. Returns the number of calls that failed. */
int wrappers_of_3(struct wrapper_buffers *b, MPI_Comm comm);
int wrappers_of_4(struct wrapper_buffers *b, MPI_Comm comm);
/* How many results are wrong. */
int wrapper_faults(const struct wrapper_buffers *b, MPI_Comm comm);

#ifdef __cplusplus
}
#endif
#endif
