// SPDX-License-Identifier: BSD-3-Clause
// A wrong argument while errors are fatal: MPI ends the program, and its message names call and argument. The test
// searches the output for that message.
#include <thence/thence.h>

#include <unistd.h>

int main(int argc, char **argv) {
    alarm(60);
    MPI_Init(&argc, &argv);
    MPI_Request cr = MPI_REQUEST_NULL;
    thence_cr_create(0, -1, MPI_INFO_NULL, &cr);
    MPI_Request request = MPI_REQUEST_NULL;
    thence_attach(
        1, &request, [](int, MPI_Status *, void *) { return int{MPI_SUCCESS}; }, nullptr, 0, MPI_STATUS_IGNORE, cr,
        nullptr);
    return 1;
}
