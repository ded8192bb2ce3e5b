// SPDX-License-Identifier: BSD-3-Clause
// A process in which a collective operation fails cannot take part in the search for the end of all messages. All
// others are told, by messages, instead of waiting for it for ever: usage: am_broken [end]
// With `end` it fails where the engine ends, after the end of all messages is found.
#include <thence/am.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

bool fails_in_wave = false;
bool fails_in_end = false;
std::atomic<int> told{0};
std::atomic<int> handled{0};

} // namespace

// The linker prefers these to those of the MPI library, also for the calls of libthence-am: so they are not hidden, as
// symbols are by default here. The headers of some MPIs say so themselves, those of MPICH 5 do not.
#pragma GCC visibility push(default)
extern "C" {

int MPI_Iallreduce(const void *from, void *to, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                   MPI_Request *request) {
    return fails_in_wave ? int{MPI_ERR_OTHER} : PMPI_Iallreduce(from, to, count, type, op, comm, request);
}
int MPI_Ireduce_scatter_block(const void *from, void *to, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                              MPI_Request *request) {
    return fails_in_end ? int{MPI_ERR_OTHER} : PMPI_Ireduce_scatter_block(from, to, count, type, op, comm, request);
}

} // extern "C"
#pragma GCC visibility pop

int main(int argc, char **argv) {
    int level = 0;
    int rank = 0;
    int size = 1;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const bool in_end = argc > 1 && std::strcmp(argv[1], "end") == 0;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    thence_am_options options{};
    options.failed = [](const thence_am_failure *, void *) { ++told; };
    thence_am am = nullptr;
    thence_am_create(MPI_COMM_WORLD, &options, sizeof options, &am);
    thence_am_register(
        am, 0,
        [](const thence_am_message *, void *) -> int {
            ++handled;
            return MPI_SUCCESS;
        },
        nullptr, 0);
    thence_am_send(am, (rank + 1) % size, 0, nullptr, 0);
    const bool is_broken = rank == size - 1;
    fails_in_end = is_broken && in_end;
    fails_in_wave = is_broken && !in_end;
    const int quiesced = thence_am_quiesce(am);
    const int freed = thence_am_free(&am);
    const int failed_at = told;
    std::fprintf(stderr, "rank %d: quiesce %d, free %d, told %d times, handled %d\n", rank, quiesced, freed, failed_at,
                 handled.load());
    int good = (quiesced == MPI_SUCCESS) == in_end && freed != MPI_SUCCESS && failed_at != 0 ? 1 : 0;
    int all_good = 0;
    MPI_Allreduce(&good, &all_good, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    // What the engine has begun is not over: MPI_Finalize could wait for it.
    MPI_Barrier(MPI_COMM_WORLD);
    if (all_good == 0) {
        std::fprintf(stderr, "rank %d was not told\n", rank);
    }
    MPI_Finalize();
    return all_good != 0 ? 0 : 1;
}
