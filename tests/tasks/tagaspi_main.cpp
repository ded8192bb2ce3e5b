// SPDX-License-Identifier: BSD-3-Clause
// The program of the tests of TAGASPI.
#include "tampi_tasks.hpp"

#include <TAMPI.h>

#include <gtest/gtest.h>

int main(int argc, char **argv) {
    find_runtime();
    int provided = -1;
    MPI_Init_thread(&argc, &argv, MPI_TASK_MULTIPLE, &provided);
    if (provided < MPI_THREAD_MULTIPLE) {
        MPI_Finalize();
        return 77;
    }
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    previous_rank = (rank + size - 1) % size;
    next_rank = (rank + 1) % size;
    testing::InitGoogleTest(&argc, argv);
    int result = RUN_ALL_TESTS();
    MPI_Allreduce(MPI_IN_PLACE, &result, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    MPI_Finalize();
    return result;
}
