// SPDX-License-Identifier: BSD-3-Clause
// thence_progress() makes the progress that others wait for, also when this process has nothing outstanding.
#include "support.hpp"

#include <chrono>
#include <cstdlib>
#include <string>
#include <unistd.h>

namespace {

class explicit_progress : public mpi_test {};

TEST_F(explicit_progress, lets_others_read_the_memory_of_this_process) {
    if (size < 2) {
        GTEST_SKIP() << "needs two ranks";
    }
    constexpr int n = 16;
    std::vector<int> memory(n, 100 + rank);
    std::vector<int> got(n, -1);
    MPI_Win win = MPI_WIN_NULL;
    ASSERT_EQ(MPI_Win_create(memory.data(), n * sizeof(int), sizeof(int), MPI_INFO_NULL, comm, &win), MPI_SUCCESS);
    char name[] = "/tmp/thence_progress_XXXXXX"; // removed when rank 0 has read: rank 1 calls nothing of MPI until then
    if (rank == 0) {
        const int file = mkstemp(name);
        ASSERT_GE(file, 0);
        close(file);
    }
    MPI_Bcast(name, sizeof name, MPI_CHAR, 0, comm);
    if (rank == 0) {
        MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win);
        for (int i = 0; i < n; ++i) {
            MPI_Get(&got[static_cast<std::size_t>(i)], 1, MPI_INT, 1, i, 1, MPI_INT, win);
        }
        MPI_Win_unlock(1, win);
        EXPECT_EQ(got, std::vector<int>(n, 101));
        unlink(name);
    } else if (rank == 1) {
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
        while (access(name, F_OK) == 0 && std::chrono::steady_clock::now() < end) {
            EXPECT_EQ(thence_progress(), MPI_SUCCESS);
        }
        EXPECT_NE(access(name, F_OK), 0) << "rank 0 still waits";
    }
    MPI_Win_free(&win);
}

} // namespace
