// SPDX-License-Identifier: BSD-3-Clause
// Three ranks that put into memory of each other, of which the last one is killed: operations on it become errors, and
// the other two go on without it. MPI itself cannot end then, so the program leaves by _exit.
#include <mpi.h>
#include <thence/notify.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <thread>
#include <unistd.h>

namespace {

int faults = 0;

void expect(const char *what, int code, int expected) {
    int found = MPI_SUCCESS;
    MPI_Error_class(code, &found);
    if (found != expected) {
        std::printf("FAULT: %s: class %d instead of %d\n", what, found, expected);
        ++faults;
    }
}

// Puts into two segments in turn until that is an error in both, at most for 20 s. Gives the codes.
std::array<int, 2> put_until_error(const std::array<thence_segment, 2> &segments, int rank) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    const std::uint64_t sent = 1;
    std::array<int, 2> codes{MPI_SUCCESS, MPI_SUCCESS};
    while ((codes[0] == MPI_SUCCESS || codes[1] == MPI_SUCCESS) && std::chrono::steady_clock::now() < end) {
        for (std::size_t i = 0; i < segments.size(); ++i) {
            codes[i] = thence_put_notify(&sent, sizeof sent, rank, segments[i], 0, 1, 1, 0, nullptr);
        }
        std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(200)); // it may have been an error of MPI
    return codes;
}

} // namespace

int main(int argc, char **argv) {
    int level = 0;
    int rank = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    thence_space space = nullptr;
    thence_segment segment = nullptr;
    expect("space", thence_space_create(MPI_COMM_WORLD, 2, &space), MPI_SUCCESS);
    expect("segment", thence_segment_create(space, 64, 8, &segment), MPI_SUCCESS);
    thence_space second_space = nullptr;
    thence_segment second_segment = nullptr;
    expect("second space", thence_space_create(MPI_COMM_WORLD, 1, &second_space), MPI_SUCCESS);
    expect("second segment", thence_segment_create(second_space, 64, 8, &second_segment), MPI_SUCCESS);
    std::array<int, 3> processes{};
    const int own = getpid();
    MPI_Allgather(&own, 1, MPI_INT, processes.data(), 1, MPI_INT, MPI_COMM_WORLD);
    if (rank == 2) {
        for (;;) {
            pause();
        }
    }
    const int other = 1 - rank;
    expect("tell", thence_notify(other, segment, 0, 1, 0), MPI_SUCCESS);
    expect("told", thence_notification_wait(segment, 0, 1, nullptr), MPI_SUCCESS);
    if (rank == 0) {
        kill(processes[2], SIGKILL);
    }
    std::uint64_t word = 1;
    thence_piece piece{&word, sizeof word, segment, 0};
    MPI_Request request = MPI_REQUEST_NULL;
    const std::array<int, 2> codes = put_until_error({segment, second_segment}, 2);
    expect("put", codes[0], MPI_ERR_OTHER);
    expect("put into the second space", codes[1], MPI_ERR_OTHER);
    expect("put again", thence_put(&word, sizeof word, 2, segment, 0, 1, nullptr), MPI_ERR_OTHER);
    expect("get", thence_get(&word, sizeof word, 2, segment, 0, 1, nullptr), MPI_ERR_OTHER);
    expect("notify", thence_notify(2, segment, 3, 1, 1), MPI_ERR_OTHER);
    expect("add", thence_fetch_add(1, 2, segment, 0, &word, 1, nullptr), MPI_ERR_OTHER);
    expect("list", thence_put_list(1, &piece, 2, 1, &request), MPI_ERR_OTHER);
    expect("free", thence_segment_free(&segment), MPI_ERR_OTHER);
    // Without it.
    word = 5;
    expect("put to the other", thence_put_notify(&word, sizeof word, other, segment, 8, 4, 1, 1, nullptr), MPI_SUCCESS);
    expect("flush", thence_queue_flush(space, 1), MPI_SUCCESS);
    expect("notification of the other", thence_notification_wait(segment, 4, 1, nullptr), MPI_SUCCESS);
    std::printf("rank %d went on with %d faults\n", rank, faults);
    std::fflush(stdout);
    std::this_thread::sleep_for(std::chrono::seconds(2)); // what it has sent may lie in its memory
    _exit(0);
}
