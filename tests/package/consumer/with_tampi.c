/* SPDX-License-Identifier: BSD-3-Clause
 * A program of TAMPI: in the form of 4.1 it has no requests. Outside of tasks its calls wait. */
#define TAMPI_VERSION_MAJOR 4
#include <TAMPI.h>
#include <stdio.h>

int main(int argc, char **argv) {
    int provided, on = 0, rank, size, sum = 0, one = 1;
    MPI_Init_thread(&argc, &argv, MPI_TASK_MULTIPLE, &provided);
    TAMPI_Nonblocking_enabled(&on);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    TAMPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) {
        printf("TAMPI's interface: provided %d, nonblocking mode %d\n", provided, on);
    }
    MPI_Finalize();
    return provided == MPI_THREAD_MULTIPLE && on == 1 && sum == size ? 0 : 1; /* no runtime here can block tasks */
}
