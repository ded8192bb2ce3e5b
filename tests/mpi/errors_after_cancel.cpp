// SPDX-License-Identifier: BSD-3-Clause
// A program that has errors returned on MPI_COMM_WORLD gets them also after the library has cancelled an operation, for
// which it changes error handlers for a moment. On MPICH 5 a handler of MPI_COMM_SELF that is set back ended the
// program in the next MPI_Testsome of a failed receive. A program of its own, since main.cpp sets that handler. Two
// ranks, since messages to self never report truncation on some MPIs.
#include <thence/thence.h>

#include <array>
#include <cstdio>
#include <cstdlib>

namespace {

int add_one(int error, MPI_Status *, void *calls) {
    int error_class = error;
    MPI_Error_class(error, &error_class);
    *static_cast<int *>(calls) += error_class == MPI_ERR_TRUNCATE ? 100 : 1;
    return MPI_SUCCESS;
}

} // namespace

int main(int argc, char **argv) {
    int level = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, thence_errors_return());
    int calls = 0;
    MPI_Request cr = MPI_REQUEST_NULL;
    thence_cr_create(THENCE_CR_ENQUEUE_COMPLETE, -1, MPI_INFO_NULL, &cr);

    int never = 0;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Irecv(&never, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &request);
    thence_attach(1, &request, &add_one, &calls, 0, MPI_STATUSES_IGNORE, cr, nullptr);
    thence_cancel(&cr);
    thence_wait(&cr, MPI_STATUS_IGNORE);

    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const int other = 1 - rank;
    const std::array<int, 2> too_long{1, 2};
    int room = 0;
    MPI_Irecv(&room, 1, MPI_INT, other, 2, MPI_COMM_WORLD, &request);
    thence_attach(1, &request, &add_one, &calls, 0, MPI_STATUSES_IGNORE, cr, nullptr);
    MPI_Barrier(MPI_COMM_WORLD); // both are pending
    MPI_Isend(too_long.data(), 2, MPI_INT, other, 2, MPI_COMM_WORLD, &request);
    thence_wait(&cr, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    thence_free(&cr);
    MPI_Finalize();
    if (calls != 101) {
        std::fprintf(stderr, "callbacks: %d, not 101\n", calls);
    }
    return calls == 101 ? EXIT_SUCCESS : EXIT_FAILURE;
}
