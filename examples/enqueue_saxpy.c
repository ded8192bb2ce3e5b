/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI operations between the functions of a host queue: rank 0 sends x, rank 1 receives it and computes y = a * x + y,
 * and no thread waits for a message. With a CUDA stream in place of the host queue it is the example of Zhou et al.,
 * "Designing and Prototyping Extensions to MPI in MPICH".
 * Usage: mpirun -n N enqueue_saxpy (any N, no arguments). Link thence::thence and thence::queues. */
#include <stdio.h>
#include <stdlib.h>

#include <thence/host_queue.h>
#include <thence/mpix.h>

enum { n = 1000000 };

typedef struct saxpy {
    float a;
    float x[n], y[n];
} saxpy;

static void run_saxpy(void *data) {
    saxpy *s = data;
    for (int i = 0; i < n; ++i) {
        s->y[i] = s->a * s->x[i] + s->y[i];
    }
}

int main(int argc, char **argv) {
    int level = 0;
    int rank = 0;
    int size = 1;
    int right = 1;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);

    /* A queue, a stream that stands for its order, and a communicator of the stream. */
    thence_host_queue *host_queue = NULL;
    thence_host_queue_create(&host_queue);
    const thence_queue queue = thence_host_queue_handle(host_queue);
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "type", "thence_queue");
    MPIX_Info_set_hex(info, "value", &queue, sizeof queue);
    MPIX_Stream stream;
    MPIX_Stream_create(info, &stream);
    MPI_Info_free(&info);
    MPI_Comm comm;
    MPIX_Stream_comm_create(MPI_COMM_WORLD, stream, &comm);

    static saxpy s = {.a = 2.0F};
    for (int i = 0; i < n; ++i) {
        s.x[i] = rank == 0 ? 1.0F : 0.0F;
        s.y[i] = 2.0F;
    }
    /* Both calls return at once. */
    if (rank == 0 && size > 1) {
        MPIX_Send_enqueue(s.x, n, MPI_FLOAT, 1, 0, comm);
    } else if (rank == 1) {
        MPIX_Recv_enqueue(s.x, n, MPI_FLOAT, 0, 0, comm, MPI_STATUS_IGNORE);
        thence_host_queue_enqueue(host_queue, &run_saxpy, &s); /* begins when x is there */
    }
    thence_host_queue_synchronize(host_queue); /* the buffers belong to the queue until then */
    if (rank == 1) {
        right = s.y[0] == 4.0F && s.y[n - 1] == 4.0F;
        printf("y[0] = %g, y[%d] = %g\n", s.y[0], n - 1, s.y[n - 1]);
    }
    MPI_Comm_free(&comm);
    MPIX_Stream_free(&stream);
    thence_host_queue_destroy(&host_queue);
    MPI_Finalize();
    return right ? EXIT_SUCCESS : EXIT_FAILURE;
}
