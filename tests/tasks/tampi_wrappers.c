/* SPDX-License-Identifier: BSD-3-Clause
 * Every wrapper of TAMPI.h in C, compiled once for each form: TAMPI_VERSION_MAJOR is 3 or 4. */
#include <TAMPI.h>

#include "tampi_wrappers.h"

#if TAMPI_VERSION_MAJOR == 3
#define CALLS wrappers_of_3
/* In a task the request is null when the wrapper returns. Outside of one it has to be waited for. */
#define CALL(name, ...)                                                                                                \
    do {                                                                                                               \
        faults += TAMPI_##name(__VA_ARGS__, &requests[n]) != MPI_SUCCESS;                                              \
        ++n;                                                                                                           \
    } while (0)
#define RECEIVE(...)                                                                                                   \
    do {                                                                                                               \
        faults += TAMPI_Irecv(__VA_ARGS__, &requests[n], &b->status) != MPI_SUCCESS;                                   \
        ++n;                                                                                                           \
    } while (0)
#else
#define CALLS wrappers_of_4
#define CALL(name, ...) faults += TAMPI_##name(__VA_ARGS__) != MPI_SUCCESS
#define RECEIVE(...) faults += TAMPI_Irecv(__VA_ARGS__, &b->status) != MPI_SUCCESS
#endif

int CALLS(struct wrapper_buffers *b, MPI_Comm comm) {
    int faults = 0, rank = 0, size = 0;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    const int next = (rank + 1) % size, previous = (rank + size - 1) % size;
#if TAMPI_VERSION_MAJOR == 3
    MPI_Request requests[32];
    MPI_Status statuses[32];
    int n = 0;
    for (int i = 0; i < 32; ++i) {
        requests[i] = MPI_REQUEST_NULL;
    }
#endif
    RECEIVE(b->got[0], 1, MPI_INT, previous, 0, comm);
    CALL(Isend, b->one, 1, MPI_INT, next, 0, comm);
    /* a ready send needs its receive posted, which only one's own rank can know */
    MPI_Request own[3];
    for (int i = 0; i < 3; ++i) {
        MPI_Irecv(&b->got[1 + i], 1, MPI_INT, rank, 1 + i, comm, &own[i]);
    }
    CALL(Ibsend, b->one, 1, MPI_INT, rank, 1, comm);
    CALL(Irsend, b->one, 1, MPI_INT, rank, 2, comm);
    CALL(Issend, b->one, 1, MPI_INT, rank, 3, comm);
    faults += TAMPI_Iwaitall(3, own, MPI_STATUSES_IGNORE) != MPI_SUCCESS;
    CALL(Ibarrier, comm);
    b->got[4][0] = b->one[0];
    CALL(Ibcast, b->got[4], 1, MPI_INT, 0, comm);
    CALL(Igather, b->one, 1, MPI_INT, b->got[5], 1, MPI_INT, 0, comm);
    CALL(Igatherv, b->one, 1, MPI_INT, b->got[6], b->counts, b->displs, MPI_INT, 0, comm);
    CALL(Iscatter, b->many[0], 1, MPI_INT, b->got[7], 1, MPI_INT, 0, comm);
    CALL(Iscatterv, b->many[0], b->counts, b->displs, MPI_INT, b->got[8], 1, MPI_INT, 0, comm);
    CALL(Iallgather, b->one, 1, MPI_INT, b->got[9], 1, MPI_INT, comm);
    CALL(Iallgatherv, b->one, 1, MPI_INT, b->got[10], b->counts, b->displs, MPI_INT, comm);
    CALL(Ialltoall, b->many[0], 1, MPI_INT, b->got[11], 1, MPI_INT, comm);
    CALL(Ialltoallv, b->many[0], b->counts, b->displs, MPI_INT, b->got[12], b->counts, b->displs, MPI_INT, comm);
    CALL(Ialltoallw, b->many[0], b->counts, b->byte_displs, b->types, b->got[13], b->counts, b->byte_displs, b->types,
         comm);
    CALL(Ireduce, b->one, b->got[14], 1, MPI_INT, MPI_SUM, 0, comm);
    CALL(Iallreduce, b->one, b->got[15], 1, MPI_INT, MPI_SUM, comm);
    CALL(Iscan, b->one, b->got[16], 1, MPI_INT, MPI_SUM, comm);
    CALL(Iexscan, b->one, b->got[17], 1, MPI_INT, MPI_SUM, comm);
    CALL(Ireduce_scatter_block, b->many[0], b->got[18], 1, MPI_INT, MPI_SUM, comm);
    CALL(Ireduce_scatter, b->many[0], b->got[19], b->counts, MPI_INT, MPI_SUM, comm);
#if TAMPI_VERSION_MAJOR == 3
    const int outside_of_task = requests[0] != MPI_REQUEST_NULL;
    faults += TAMPI_Waitall(n, requests, statuses) != MPI_SUCCESS;
    if (outside_of_task) { /* else the receive may be pending */
        b->status = statuses[0];
    }
    faults += TAMPI_Wait(requests, statuses) != MPI_SUCCESS;
#endif
    return faults;
}

#if TAMPI_VERSION_MAJOR == 3
void wrapper_prepare(struct wrapper_buffers *b, MPI_Comm comm) {
    int rank = 0;
    MPI_Comm_rank(comm, &rank);
    for (int i = 0; i < 22; ++i) {
        b->one[i] = 1 + rank;
        for (int j = 0; j < 8; ++j) {
            b->got[i][j] = -1;
        }
    }
    for (int i = 0; i < 8; ++i) {
        b->many[0][i] = 100 * rank + i;
        b->counts[i] = 1;
        b->displs[i] = i;
        b->byte_displs[i] = i * (int)sizeof(int);
        b->types[i] = MPI_INT;
    }
}

static int wrong(int got, int expected) {
    return got != expected;
}

int wrapper_faults(const struct wrapper_buffers *b, MPI_Comm comm) {
    int faults = 0, rank = 0, size = 0;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    const int previous = (rank + size - 1) % size, sum = size * (size + 1) / 2;
    faults += wrong(b->got[0][0], 1 + previous) + wrong(b->status.MPI_SOURCE, previous);
    for (int i = 1; i <= 3; ++i) {
        faults += wrong(b->got[i][0], 1 + rank);
    }
    faults += wrong(b->got[4][0], 1);
    faults += wrong(b->got[7][0], rank) + wrong(b->got[8][0], rank);
    for (int i = 0; i < size; ++i) {
        faults += wrong(b->got[9][i], 1 + i) + wrong(b->got[10][i], 1 + i);
        for (int j = 11; j <= 13; ++j) {
            faults += wrong(b->got[j][i], 100 * i + rank);
        }
        if (rank == 0) {
            faults += wrong(b->got[5][i], 1 + i) + wrong(b->got[6][i], 1 + i);
        }
    }
    if (rank == 0) {
        faults += wrong(b->got[14][0], sum);
    }
    faults += wrong(b->got[15][0], sum) + wrong(b->got[16][0], (rank + 1) * (rank + 2) / 2);
    if (rank > 0) {
        faults += wrong(b->got[17][0], rank * (rank + 1) / 2);
    }
    const int column = 100 * size * (size - 1) / 2 + size * rank;
    return faults + wrong(b->got[18][0], column) + wrong(b->got[19][0], column);
}
#endif
