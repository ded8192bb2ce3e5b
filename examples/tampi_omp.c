/* SPDX-License-Identifier: BSD-3-Clause
 * TAMPI's interface with OpenMP tasks: blocks go along a pipeline of ranks. A task starts its message and returns. The
 * tasks that depend on it start when the message has arrived, and read its status. Of Thence the program uses only the
 * two calls with which a detached task says that its body begins and ends. Usage: mpirun -n N tampi_omp (any N, no
 * arguments). Compile with -fopenmp and link thence-tampi. */
#include <stdio.h>
#include <stdlib.h>

#include <TAMPI.h>
#include <thence/omp.h>

enum { blocks = 16, block_size = 256 };

static double in[blocks][block_size], out[blocks][block_size];
static MPI_Status statuses[blocks];

int main(int argc, char **argv) {
    int level, rank, size, wrong = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    if (level < MPI_THREAD_MULTIPLE) {
        fprintf(stderr, "tampi_omp: this MPI does not offer MPI_THREAD_MULTIPLE\n");
        MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    }
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);

#pragma omp parallel
#pragma omp single
    {
        for (int b = 0; b < blocks; ++b) {
            omp_event_handle_t received = (omp_event_handle_t)0, sent = (omp_event_handle_t)0;
            if (rank > 0) {
#pragma omp task detach(received) firstprivate(b) depend(out : in[b])
                {
                    MPI_Request request;
                    thence_omp_task_begin(received);
                    TAMPI_Irecv(in[b], block_size, MPI_DOUBLE, rank - 1, b, MPI_COMM_WORLD, &request, &statuses[b]);
                    thence_omp_task_end();
                }
            }
#pragma omp task firstprivate(b) depend(in : in[b]) depend(out : out[b])
            for (int i = 0; i < block_size; ++i) {
                out[b][i] = in[b][i] + rank + b + i;
            }
            if (rank < size - 1) {
#pragma omp task detach(sent) firstprivate(b) depend(in : out[b])
                {
                    MPI_Request request;
                    thence_omp_task_begin(sent);
                    MPI_Isend(out[b], block_size, MPI_DOUBLE, rank + 1, b, MPI_COMM_WORLD, &request);
                    TAMPI_Iwait(&request, MPI_STATUS_IGNORE);
                    thence_omp_task_end();
                }
            }
        }
        /* In GCC 12 the barrier that follows may miss the event of a detached task without successors. */
#pragma omp taskwait
    }

    const int ranks_added = rank * (rank + 1) / 2;
    for (int b = 0; b < blocks; ++b) {
        int count = block_size;
        if (rank > 0) {
            MPI_Get_count(&statuses[b], MPI_DOUBLE, &count);
        }
        wrong += count != block_size;
        for (int i = 0; i < block_size; ++i) {
            wrong += out[b][i] != ranks_added + (rank + 1.0) * (b + i);
        }
    }
    MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) {
        printf("tampi_omp: %d blocks through %d ranks: %s\n", blocks, size, wrong ? "WRONG" : "right");
    }
    MPI_Finalize();
    return wrong ? EXIT_FAILURE : EXIT_SUCCESS;
}
