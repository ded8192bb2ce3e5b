/* SPDX-License-Identifier: BSD-3-Clause
 * MPI and OpenMP tasks: no task waits for a message, and no thread polls. A task that receives says that it begins and
 * ends; what it attaches delays its end, so the tasks that depend on it start when the messages have arrived. The
 * program sums up blocks along a pipeline of ranks. Usage: mpirun -n N omp_tasks (any N, no arguments; any
 * OMP_NUM_THREADS). Compile with -fopenmp and link thence. */
#include <stdio.h>
#include <stdlib.h>

#include <thence/omp.h>

enum { blocks = 16, block_size = 256 };

static double in[blocks][block_size], out[blocks][block_size];
static MPI_Request cr;

static void check(int code) {
    if (code != MPI_SUCCESS) {
        MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    }
}

/* Code that communicates: it knows neither the event nor OpenMP. */
static void delay_end_until(MPI_Request *request) {
    thence_task self;
    check(thence_task_current(&self));
    check(thence_task_attach(1, request, 0, MPI_STATUSES_IGNORE, &self, cr));
}

static void receive_block(int b, int from) {
    MPI_Request request;
    MPI_Irecv(in[b], block_size, MPI_DOUBLE, from, b, MPI_COMM_WORLD, &request);
    delay_end_until(&request);
}

static void send_block(int b, int to) {
    MPI_Request request;
    MPI_Isend(out[b], block_size, MPI_DOUBLE, to, b, MPI_COMM_WORLD, &request);
    delay_end_until(&request);
}

static void add_own_values(int b, int rank) {
    for (int i = 0; i < block_size; ++i) {
        out[b][i] = in[b][i] + rank + b + i;
    }
}

/* Creates all tasks; their dependences order them. */
static void create_tasks(int rank, int size) {
    for (int b = 0; b < blocks; ++b) {
        omp_event_handle_t received = (omp_event_handle_t)0, sent = (omp_event_handle_t)0;
        if (rank > 0) {
#pragma omp task detach(received) firstprivate(b) depend(out : in[b])
            {
                check(thence_omp_task_begin(received));
                receive_block(b, rank - 1);
                check(thence_omp_task_end());
            }
        }
#pragma omp task firstprivate(b) depend(in : in[b]) depend(out : out[b])
        add_own_values(b, rank);
        if (rank < size - 1) {
#pragma omp task detach(sent) firstprivate(b) depend(in : out[b])
            {
                check(thence_omp_task_begin(sent));
                send_block(b, rank + 1);
                check(thence_omp_task_end());
            }
        }
    }
}

int main(int argc, char **argv) {
    int level, rank, size, wrong = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    if (level < MPI_THREAD_MULTIPLE) {
        fprintf(stderr, "omp_tasks: this MPI does not offer MPI_THREAD_MULTIPLE\n");
        MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    }
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    check(thence_task_runtime_add(thence_task_runtime_detached()));
    check(thence_cr_create(THENCE_CR_ANY_THREAD, -1, MPI_INFO_NULL, &cr)); /* the library's thread makes progress */

#pragma omp parallel
#pragma omp single
    {
        create_tasks(rank, size);
        /* In GCC 12 the barrier that follows may miss the event of a detached task without successors. */
#pragma omp taskwait
    }

    const int ranks_added = rank * (rank + 1) / 2;
    for (int b = 0; b < blocks; ++b) {
        for (int i = 0; i < block_size; ++i) {
            wrong += out[b][i] != ranks_added + (rank + 1.0) * (b + i);
        }
    }
    check(thence_free(&cr));
    check(thence_task_runtime_remove(thence_task_runtime_detached()));
    MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) {
        printf("omp_tasks: %d blocks through %d ranks: %s\n", blocks, size, wrong ? "WRONG" : "right");
    }
    MPI_Finalize();
    return wrong ? EXIT_FAILURE : EXIT_SUCCESS;
}
