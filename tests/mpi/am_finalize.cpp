// SPDX-License-Identifier: BSD-3-Clause
// A process that is done early goes to MPI_Finalize, without freeing its engine, and serves the others from there.
#include <thence/am.h>

#include <csignal>
#include <cstdio>
#include <cstring>

namespace {

int handled = 0;
int left = 0;
int told = 0;
int rank = 0;
int size = 1;

// What a process has sent comes back, 100 times.
int pass_on(const thence_am_message *m, void *) {
    int hops = 0;
    std::memcpy(&hops, m->payload, sizeof hops);
    ++handled;
    if (hops > 0) {
        --hops;
        return thence_am_send(m->am, (rank + 1) % size, 0, &hops, sizeof hops);
    }
    ++left;
    return MPI_SUCCESS;
}

} // namespace

int main(int argc, char **argv) {
    thence_am am = nullptr;
    int level = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (thence_am_create(MPI_COMM_WORLD, nullptr, 0, &am) != MPI_SUCCESS ||
        thence_am_register(am, 0, &pass_on, nullptr, 0) != MPI_SUCCESS) {
        return 1;
    }
    if (argc > 1 && std::strcmp(argv[1], "killed") == 0) {
        if (rank == size - 1) {
            std::fprintf(stderr, "rank %d is killed now\n", rank);
            std::raise(SIGKILL);
        }
        const bool is_quiet = thence_am_quiesce(am) == MPI_SUCCESS;
        std::fprintf(stderr, "rank %d is told %s\n", rank, is_quiet ? "that all is quiet" : "of an error");
        return 1; // other processes may be gone: MPI_Finalize could wait for them
    }
    if (rank == size - 1) {
        for (int i = 0; i < 10; ++i) {
            const int hops = 100 * size - 1;
            thence_am_send(am, 0, 0, &hops, sizeof hops);
        }
        if (argc > 1 && std::strcmp(argv[1], "free") == 0) { // the others are in MPI_Finalize
            thence_am_free(&am);
        }
    }
    if (argc > 1 && std::strcmp(argv[1], "pending") == 0) { // what it waits for is told in MPI_Finalize
        thence_am_quiesce_then(
            am, [](int, void *) { ++told; }, nullptr);
    } else {
        told = 1;
    }
    MPI_Finalize();
    if (told != 1) {
        std::fprintf(stderr, "rank %d was told %d times that all is quiet\n", rank, told);
        return 1;
    }
    if (handled != 1000 || left != (rank == size - 1 ? 10 : 0)) {
        std::fprintf(stderr, "rank %d has handled %d messages, %d of them the last of a row\n", rank, handled, left);
        return 1;
    }
    return 0;
}
