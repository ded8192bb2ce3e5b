// SPDX-License-Identifier: BSD-3-Clause
// A process that calls exit() without MPI_Finalize ends, whatever it has made, and the launcher ends the others.
#include <thence/stream.h>

#include <cstdlib>
#include <unistd.h>

int main(int argc, char **argv) {
    alarm(30); // a process that does not end is ended by a signal
    MPI_Init(&argc, &argv);
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm comm = MPI_COMM_NULL;
    if (thence_stream_comm_create_multiplex(MPI_COMM_WORLD, 0, nullptr, &comm) != MPI_SUCCESS) {
        return 1;
    }
    MPI_Barrier(comm);
    if (rank == 1) {
        std::exit(3);
    }
    for (;;) { // until the launcher ends it
        pause();
    }
}
