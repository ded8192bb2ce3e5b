/* SPDX-License-Identifier: BSD-3-Clause
 * In C: the types of the functions of generalized requests under both names, that of MPICH's header and that of the
 * paper, and wait functions of both forms, in one MPI_Waitall. */
#include <mpi.h>

#include <thence/mpix.h>

#include <stddef.h>

struct job {
    MPI_Request request;
    int waits, over;
};

static int query(void *state, MPI_Status *status) {
    (void)state;
    MPI_Status_set_elements(status, MPI_BYTE, 0);
    MPI_Status_set_cancelled(status, 0);
    return MPI_SUCCESS;
}
static int release(void *state) {
    (void)state;
    return MPI_SUCCESS;
}
static int cancel(void *state, int complete) {
    (void)state;
    (void)complete;
    return MPI_SUCCESS;
}

static MPIX_Grequest_poll_function poll_of_header;
static MPIX_Grequest_poll_fn poll_as_printed;
static MPIX_Grequest_wait_function wait_of_header;
static MPIX_Grequest_wait_fn wait_as_printed;

static void end(struct job *job) {
    if (!job->over) {
        job->over = 1;
        MPI_Grequest_complete(job->request);
    }
}
static int poll_of_header(void *state, MPI_Status *status) {
    (void)status;
    end(state);
    return MPI_SUCCESS;
}
static int poll_as_printed(void *state, MPI_Status *status) {
    return poll_of_header(state, status);
}
static int wait_of_header(int count, void **array_of_states, double timeout, MPI_Status *status) {
    (void)timeout;
    (void)status;
    for (int i = 0; i < count; ++i) {
        struct job *job = array_of_states[i];
        ++job->waits;
        end(job);
    }
    return MPI_SUCCESS;
}
static int wait_as_printed(int count, void *array_of_states, double timeout, MPI_Status *status) {
    return wait_of_header(count, array_of_states, timeout, status);
}

/* The address of the call is that of a function. */
static int (*const start)(MPI_Grequest_query_function *, MPI_Grequest_free_function *, MPI_Grequest_cancel_function *,
                          MPIX_Grequest_poll_function *, MPIX_Grequest_wait_function *, void *,
                          MPI_Request *) = MPIX_Grequest_start;

int count_failures_of_grequest_forms(void);
int count_failures_of_grequest_forms(void) {
    struct job jobs[7] = {{MPI_REQUEST_NULL, 0, 0}};
    MPI_Request requests[7];
    MPIX_Grequest_class header, printed;
    int failed = 0;
    failed += MPIX_Grequest_start(query, release, cancel, poll_of_header, wait_of_header, &jobs[0], &jobs[0].request);
    failed += MPIX_Grequest_start(query, release, cancel, poll_as_printed, NULL, &jobs[1], &jobs[1].request);
    failed += MPIX_Grequest_start(query, release, cancel, NULL, wait_as_printed, &jobs[2], &jobs[2].request);
    failed += MPIX_Grequest_start(query, release, cancel, NULL, &wait_as_printed, &jobs[3], &jobs[3].request);
    failed += start(query, release, cancel, poll_as_printed, wait_of_header, &jobs[4], &jobs[4].request);
    failed += MPIX_Grequest_class_create(query, release, cancel, poll_of_header, wait_as_printed, &printed);
    failed += MPIX_Grequest_class_create(query, release, cancel, poll_as_printed, wait_of_header, &header);
    failed += MPIX_Grequest_class_allocate(printed, &jobs[5], &jobs[5].request);
    failed += MPIX_Grequest_class_allocate(header, &jobs[6], &jobs[6].request);
    for (int i = 0; i < 7; ++i) {
        requests[i] = jobs[i].request;
    }
    failed += MPI_Waitall(7, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < 7; ++i) {
        failed += !jobs[i].over || requests[i] != MPI_REQUEST_NULL;
    }
    /* These have a wait function alone, so only that can have ended them. */
    failed += jobs[2].waits == 0 || jobs[3].waits == 0;
    return failed;
}
