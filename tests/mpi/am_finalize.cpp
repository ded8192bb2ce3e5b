// SPDX-License-Identifier: BSD-3-Clause
// A process that is done early goes to MPI_Finalize, without freeing its engine, and serves the others from there. The
// delete callbacks of attributes of MPI_COMM_SELF may use the engine until it has ended, and call nothing that fails
// afterwards but for an error.
#include "delete_callbacks.hpp"
#include "is_interposed.hpp"

#include <thence/am.h>

#include <csignal>
#include <cstdio>
#include <cstring>

namespace {

// Each call returns an error.
bool is_used_in_vain(thence_am am) {
    return thence_am_progress(am, nullptr) != MPI_SUCCESS && thence_am_hold(am) != MPI_SUCCESS &&
           thence_am_quiesce(am) != MPI_SUCCESS && thence_am_send(am, 0, 0, nullptr, 0) != MPI_SUCCESS;
}

int handled = 0;
int left = 0;
int told = 0;
int sent_in_callbacks = 0;
int faults = 0;

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

// Of an attribute that was set before there was an engine: it has ended if it ends with an attribute of its own.
bool works_in_first_callback = false;

int use_in_callback(thence_am &am, bool works) {
    const int last_hop = 0;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, thence_errors_return());
    MPI_Comm_set_errhandler(MPI_COMM_SELF, thence_errors_return());
    if (works) {
        ++sent_in_callbacks;
        faults += thence_am_send(am, rank, 0, &last_hop, sizeof last_hop) != MPI_SUCCESS ? 1 : 0;
        faults += thence_am_quiesce(am) != MPI_SUCCESS ? 1 : 0;
    } else {
        faults += is_used_in_vain(am) ? 0 : 1;
        faults += thence_am_free(&am) != MPI_SUCCESS || am != nullptr ? 1 : 0;
    }
    return MPI_SUCCESS;
}

int first_callback(MPI_Comm, int, void *am, void *) {
    return use_in_callback(*static_cast<thence_am *>(am), works_in_first_callback);
}
int second_callback(MPI_Comm, int, void *am, void *) {
    return use_in_callback(*static_cast<thence_am *>(am), true);
}

} // namespace

int main(int argc, char **argv) {
    static thence_am am = nullptr;
    int level = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const bool in_callbacks = argc > 1 && std::strcmp(argv[1], "callback") == 0;
    works_in_first_callback = is_interposed(&MPI_Finalize, &PMPI_Finalize);
    if (in_callbacks) {
        set_attribute(MPI_COMM_NULL_COPY_FN, &first_callback, &am);
    }
    if (thence_am_create(MPI_COMM_WORLD, nullptr, 0, &am) != MPI_SUCCESS ||
        thence_am_register(am, 0, &pass_on, nullptr, 0) != MPI_SUCCESS) {
        return 1;
    }
    if (in_callbacks) {
        set_attribute(MPI_COMM_NULL_COPY_FN, &second_callback, &am);
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
    if (faults != 0 || sent_in_callbacks != (!in_callbacks ? 0 : works_in_first_callback ? 2 : 1)) {
        std::fprintf(stderr, "rank %d: %d calls in delete callbacks are wrong\n", rank, faults);
        return 1;
    }
    handled -= sent_in_callbacks;
    left -= sent_in_callbacks;
    if (am != nullptr && !is_used_in_vain(am)) {
        std::fprintf(stderr, "rank %d: an engine does not refuse calls after MPI_Finalize\n", rank);
        return 1;
    }
    if (handled != 1000 || left != (rank == size - 1 ? 10 : 0)) {
        std::fprintf(stderr, "rank %d has handled %d messages, %d of them the last of a row\n", rank, handled, left);
        return 1;
    }
    return 0;
}
