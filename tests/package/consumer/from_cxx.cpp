// SPDX-License-Identifier: BSD-3-Clause
// The C API in a C++ program: it must compile and link, also where mpi.h brings C++ bindings that have no library.
#include <thence/thence.h>

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    thence_stats_info stats{};
    const int error = thence_stats_query(&stats, sizeof stats);
    MPI_Finalize();
    return error == MPI_SUCCESS && stats.attached == 0 ? 0 : 1;
}
