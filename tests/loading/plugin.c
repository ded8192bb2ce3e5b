// SPDX-License-Identifier: BSD-3-Clause
// A library of somebody that uses this one, for dlopen(): one continuation by callback, then the wait for all of them,
// with operations of two threads.
#include <thence/thence.h>

#include <pthread.h>
#include <stdio.h>

static int ran;
static int count(int error, MPI_Status *status, void *data) {
    (void)status;
    (void)data;
    __atomic_fetch_add(&ran, error == MPI_SUCCESS, __ATOMIC_RELAXED);
    return MPI_SUCCESS;
}

static MPI_Request cr;
static int fault;
static int received[2];

static void *attach_one(void *which) {
    int index = which != NULL;
    MPI_Request request = MPI_REQUEST_NULL;
    if (MPI_Irecv(&received[index], 1, MPI_INT, 0, index, MPI_COMM_SELF, &request) != MPI_SUCCESS ||
        thence_attach(1, &request, count, NULL, 0, MPI_STATUSES_IGNORE, cr, NULL) != MPI_SUCCESS) {
        fault = 1;
    }
    return NULL;
}

// `first`: begin with MPI_Init_thread; `last`: end with MPI_Finalize. Returns 0 if all is as it should be.
int use_thence(int first, int last) {
    int level = MPI_THREAD_SINGLE;
    if (first) {
        MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &level);
    }
    if (thence_cr_create(THENCE_CR_ENQUEUE_COMPLETE, -1, MPI_INFO_NULL, &cr) != MPI_SUCCESS) {
        return 2;
    }
    attach_one(NULL);
    MPI_Query_thread(&level);
    if (level == MPI_THREAD_MULTIPLE) {
        pthread_t thread;
        pthread_create(&thread, NULL, attach_one, &cr);
        pthread_join(thread, NULL);
    } else {
        attach_one(&cr);
    }
    int sent[2] = {42, 43};
    for (int i = 0; i < 2; ++i) {
        MPI_Send(&sent[i], 1, MPI_INT, 0, i, MPI_COMM_SELF);
    }
    if (fault || thence_wait(&cr, MPI_STATUS_IGNORE) != MPI_SUCCESS || thence_free(&cr) != MPI_SUCCESS) {
        return 3;
    }
    if (last) {
        MPI_Finalize();
    }
    printf("%d callbacks, received %d and %d\n", ran, received[0], received[1]);
    return ran == 2 && received[0] == 42 && received[1] == 43 ? 0 : 4;
}
