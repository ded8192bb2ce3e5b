/* SPDX-License-Identifier: BSD-3-Clause
 * MPI Continuations as in the MPI Forum's later text: rank 0 serves requests of all ranks. Its continuation request is
 * poll-only, so callbacks run only where the program tests it, and is started with MPI_Start. Each callback posts the
 * next receive.
 * Usage: mpirun -n N mpix_continue_forum (any N, no arguments). Link thence. */
#include <stdio.h>
#include <stdlib.h>

#include <thence/mpix_continue_forum.h>

enum { jobs_per_rank = 20, tag_job = 1, tag_result = 2 };

typedef struct server {
    int served, total;
    int job; /* the buffer of the posted receive */
    MPI_Status status;
    MPI_Request cr;
} server;

static int serve(int rc, void *data);

static int post_receive(server *s) {
    MPI_Request request;
    int rc = MPI_Irecv(&s->job, 1, MPI_INT, MPI_ANY_SOURCE, tag_job, MPI_COMM_WORLD, &request);
    /* DEFER_COMPLETE: the callback never runs inside this call, so many complete messages cause no recursion. */
    return rc != MPI_SUCCESS ? rc : MPIX_Continue(&request, serve, s, MPIX_CONT_DEFER_COMPLETE, &s->status, s->cr);
}

static int result_sent(int rc, void *data) {
    free(data);
    return rc;
}

static int serve(int rc, void *data) {
    server *s = data;
    MPI_Request request;
    int *result = malloc(sizeof *result);
    if (rc != MPI_SUCCESS || result == NULL) {
        free(result);
        return rc != MPI_SUCCESS ? rc : MPI_ERR_NO_MEM; /* marks the continuation as failed */
    }
    *result = s->job * s->job;
    MPI_Isend(result, 1, MPI_INT, s->status.MPI_SOURCE, tag_result, MPI_COMM_WORLD, &request);
    MPIX_Continue(&request, result_sent, result, MPIX_CONT_DEFER_COMPLETE, MPI_STATUS_IGNORE, s->cr);
    s->served += 1;
    return s->served < s->total ? post_receive(s) : MPI_SUCCESS;
}

int main(int argc, char **argv) {
    int rank, size, wrong = 0;
    int jobs[jobs_per_rank], results[jobs_per_rank];
    MPI_Request requests[2 * jobs_per_rank];
    MPI_Status statuses[2 * jobs_per_rank];
    server s = {0, 0, 0, {0}, MPI_REQUEST_NULL};

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);

    for (int i = 0; i < jobs_per_rank; ++i) {
        jobs[i] = 1000 * rank + i;
        MPI_Irecv(&results[i], 1, MPI_INT, 0, tag_result, MPI_COMM_WORLD, &requests[2L * i]);
        MPI_Isend(&jobs[i], 1, MPI_INT, 0, tag_job, MPI_COMM_WORLD, &requests[2L * i + 1]);
    }
    if (rank == 0) {
        s.total = size * jobs_per_rank;
        MPIX_Continue_init(MPIX_CONT_POLL_ONLY, 0, MPI_INFO_NULL, &s.cr);
        MPI_Start(&s.cr);
        post_receive(&s);
        if (MPI_Wait(&s.cr, MPI_STATUS_IGNORE) != MPI_SUCCESS || s.served != s.total) {
            wrong += 1;
        }
        MPI_Request_free(&s.cr);
        printf("served %d jobs\n", s.served);
    }
    MPI_Waitall(2 * jobs_per_rank, requests, statuses);
    for (int i = 0; i < jobs_per_rank; ++i) {
        wrong += results[i] != jobs[i] * jobs[i];
    }
    if (wrong > 0) {
        fprintf(stderr, "rank %d: %d results are wrong\n", rank, wrong);
    }
    MPI_Finalize();
    return wrong == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
