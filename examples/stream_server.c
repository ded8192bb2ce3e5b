/* SPDX-License-Identifier: BSD-3-Clause */
/* A stream that serves all others: three threads of each process send numbers to a stream of rank 0, which receives
 * from any rank and any stream and sends the square back to the stream that asked. Several streams on one communicator
 * are what Zhou et al., "Designing and Prototyping Extensions to MPI in MPICH", propose for this.
 * Usage: mpirun -n N stream_server (any N, no arguments). Link thence::core and a library of threads. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include <thence/mpix.h>

enum { clients = 3, questions = 5, most = clients + 1 };

typedef struct client {
    int index; /* of its stream */
    int server;
    int right;
    MPI_Comm comm;
} client;

/* The tag says which stream asks: a status has no index. */
static void *ask(void *data) {
    client *self = data;
    self->right = 1;
    for (int i = 0; i < questions; ++i) {
        int answer = -1;
        MPIX_Stream_send(&i, 1, MPI_INT, 0, self->index, self->comm, self->index, self->server);
        MPIX_Stream_recv(&answer, 1, MPI_INT, 0, 0, self->comm, self->server, self->index, MPI_STATUS_IGNORE);
        self->right = self->right && answer == i * i;
    }
    return NULL;
}

static void serve(MPI_Comm comm, int server, int all) {
    for (int i = 0; i < all; ++i) {
        int number = 0;
        MPI_Status status;
        MPIX_Stream_recv(&number, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, -1, server, &status);
        number *= number;
        MPIX_Stream_send(&number, 1, MPI_INT, status.MPI_SOURCE, 0, comm, server, status.MPI_TAG);
    }
}

int main(int argc, char **argv) {
    int level = 0;
    int rank = 0;
    int size = 0;
    int right = 1;
    client team[clients];
    pthread_t threads[clients];
    MPIX_Stream streams[most];
    MPI_Comm comm;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    if (level < MPI_THREAD_MULTIPLE) {
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    /* Rank 0 has one stream more than the others: that of the server. */
    const int count = rank == 0 ? clients + 1 : clients;
    for (int i = 0; i < count; ++i) {
        MPIX_Stream_create(MPI_INFO_NULL, &streams[i]);
    }
    MPIX_Stream_comm_create_multiplex(MPI_COMM_WORLD, count, streams, &comm);
    for (int i = 0; i < clients; ++i) {
        team[i] = (client){.index = i, .server = clients, .comm = comm};
        pthread_create(&threads[i], NULL, &ask, &team[i]);
    }
    if (rank == 0) {
        serve(comm, clients, size * clients * questions);
    }
    for (int i = 0; i < clients; ++i) {
        pthread_join(threads[i], NULL);
        right = right && team[i].right;
    }
    MPI_Comm_free(&comm);
    for (int i = 0; i < count; ++i) {
        MPIX_Stream_free(&streams[i]);
    }
    if (rank == 0) {
        printf("%d questions of %d streams answered\n", size * clients * questions, size * clients);
    }
    MPI_Finalize();
    return right ? EXIT_SUCCESS : EXIT_FAILURE;
}
