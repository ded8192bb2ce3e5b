/* SPDX-License-Identifier: BSD-3-Clause
 * OpenMP detached tasks: a ring of cells, split among ranks and blocks. The task that exchanges the halo is detached:
 * its thread updates other blocks meanwhile, and the blocks at the border start when the messages have arrived. No task
 * ever waits. Usage: mpirun -n N omp_halo (any N, no arguments; any OMP_NUM_THREADS). Compile with -fopenmp and link
 * thence: on MPICH and Intel MPI the library's thread needs it, elsewhere thence-core does too. */
#include <stdio.h>
#include <stdlib.h>

#include <thence/omp.h>

enum { blocks = 4, block_size = 64, local = blocks * block_size, steps = 40 };

static unsigned cell[2][local + 2]; /* two generations; cell[g][0] and cell[g][local + 1] are the halo */

static unsigned next_value(unsigned left, unsigned self, unsigned right) {
    return 3 * left + 5 * self + 7 * right + 1;
}

static unsigned first_value(int global) {
    return 2654435761u * (unsigned)(global + 1);
}

static void exchange_halo(unsigned *u, int rank, int size, omp_event_handle_t done, MPI_Request cr) {
    int left = (rank + size - 1) % size, right = (rank + 1) % size;
    MPI_Request requests[4];
    MPI_Irecv(&u[0], 1, MPI_UNSIGNED, left, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(&u[local + 1], 1, MPI_UNSIGNED, right, 1, MPI_COMM_WORLD, &requests[1]);
    MPI_Isend(&u[local], 1, MPI_UNSIGNED, right, 0, MPI_COMM_WORLD, &requests[2]);
    MPI_Isend(&u[1], 1, MPI_UNSIGNED, left, 1, MPI_COMM_WORLD, &requests[3]);
    if (thence_omp_fulfill_event_after(4, requests, MPI_STATUSES_IGNORE, done, cr) != MPI_SUCCESS) {
        MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    }
}

static void update_block(const unsigned *from, unsigned *to, int b) {
    for (int i = 1 + b * block_size; i <= (b + 1) * block_size; ++i) {
        to[i] = next_value(from[i - 1], from[i], from[i + 1]);
    }
}

/* Create all tasks of all steps; their dependences order them. dep[g][0] and dep[g][blocks + 1] represent the
 * halo cells. */
static void create_tasks(int rank, int size, MPI_Request cr) {
    static char dep[2][blocks + 2];
    (void)dep; /* GCC would warn that it is unused, since it ignores depend clauses */
    for (int step = 0; step < steps; ++step) {
        int g = step % 2, h = 1 - g;
        omp_event_handle_t done = (omp_event_handle_t)0;
#pragma omp task detach(done) firstprivate(g) depend(in                                                                \
                                                     : dep[g][1], dep[g][blocks])                                      \
    depend(out                                                                                                         \
           : dep[g][0], dep[g][blocks + 1])
        exchange_halo(cell[g], rank, size, done, cr);
        for (int b = 0; b < blocks; ++b) {
#pragma omp task firstprivate(g, h, b) depend(in : dep[g][b], dep[g][b + 1], dep[g][b + 2]) depend(out : dep[h][b + 1])
            update_block(cell[g], cell[h], b);
        }
    }
}

/* The same steps on the whole ring, without MPI. Returns the number of cells of this rank that differ. */
static int count_wrong(int rank, int size) {
    int total = size * local, wrong = 0;
    unsigned *ring[2] = {malloc((size_t)total * sizeof(unsigned)), malloc((size_t)total * sizeof(unsigned))};
    if (ring[0] == NULL || ring[1] == NULL) {
        MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
        exit(EXIT_FAILURE); /* MPI_Abort does not return, but the compiler does not know that */
    }
    for (int i = 0; i < total; ++i) {
        ring[0][i] = first_value(i);
    }
    for (int step = 0; step < steps; ++step) {
        for (int i = 0; i < total; ++i) {
            ring[1 - step % 2][i] =
                next_value(ring[step % 2][(i + total - 1) % total], ring[step % 2][i], ring[step % 2][(i + 1) % total]);
        }
    }
    for (int i = 0; i < local; ++i) {
        wrong += cell[steps % 2][i + 1] != ring[steps % 2][rank * local + i];
    }
    free(ring[0]);
    free(ring[1]);
    return wrong;
}

int main(int argc, char **argv) {
    int rank, size, level, wrong;
    MPI_Request cr;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    if (level < MPI_THREAD_MULTIPLE) {
        fprintf(stderr, "this MPI does not provide MPI_THREAD_MULTIPLE\n");
        MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    }
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < local; ++i) {
        cell[0][i + 1] = first_value(rank * local + i);
    }

    /* The helper thread of the library makes progress while all OpenMP threads wait. */
    thence_cr_create(THENCE_CR_ANY_THREAD, -1, MPI_INFO_NULL, &cr);
#pragma omp parallel
#pragma omp single
    {
        create_tasks(rank, size, cr);
        thence_omp_taskwait(cr);
    }
    thence_free(&cr);

    wrong = count_wrong(rank, size);
    if (wrong > 0) {
        fprintf(stderr, "rank %d: %d of %d cells are wrong\n", rank, wrong, local);
    } else if (rank == 0) {
        printf("%d cells, %d steps: correct\n", size * local, steps);
    }
    MPI_Finalize();
    return wrong == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
