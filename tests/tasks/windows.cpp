// SPDX-License-Identifier: BSD-3-Clause
// Calls that synchronize windows of MPI, in tasks that block: they keep no worker. Each task waits in such a call for
// another rank, which goes on only after a message of a task of this rank that is started later.
#include "tampi_tasks.hpp"

#include <TAMPI.h>

#include <array>
#include <atomic>
#include <string_view>
#include <thread>

namespace {

constexpr int count = 6; // more than workers

// Windows of all ranks, one for each task. Where this MPI has none, the tests are skipped.
class windows : public testing::Test {
protected:
    void SetUp() override {
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
        for (std::size_t i = 0; i < count; ++i) {
            // MPICH 4.0 mistakes the parts of processes of one node for each other if they have only a few bytes.
            constexpr MPI_Aint bytes = 4096;
            const int code = MPI_Win_allocate(bytes, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory[i], &all[i]);
            if (code != MPI_SUCCESS) {
                all[i] = MPI_WIN_NULL;
                GTEST_SKIP() << "this MPI has no windows here";
            }
            memory[i][0] = memory[i][1] = -1;
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    void TearDown() override {
        MPI_Barrier(MPI_COMM_WORLD);
        for (MPI_Win &each : all) {
            if (each != MPI_WIN_NULL) {
                MPI_Win_free(&each);
            }
        }
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    }
    // A message from a task of this rank to the next rank, and the wait for that of the previous one.
    static void tell(int tag) { EXPECT_EQ(MPI_Send(nullptr, 0, MPI_INT, next_rank, tag, MPI_COMM_WORLD), MPI_SUCCESS); }
    static void hear(int tag) {
        EXPECT_EQ(MPI_Recv(nullptr, 0, MPI_INT, previous_rank, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE), MPI_SUCCESS);
    }
    static void wait_for(const std::atomic<int> &value, int expected) {
        while (value != expected) {
            std::this_thread::yield();
        }
    }

    std::array<MPI_Win, count> all = [] {
        std::array<MPI_Win, count> none;
        none.fill(MPI_WIN_NULL);
        return none;
    }();
    std::array<int *, count> memory{};
};

// Each fence waits for that of the next rank, whose task hears of it before.
TEST_F(windows, a_fence_blocks_the_task) {
    std::atomic<int> begun{0};
    tasks waiting;
    if (rank == 0) {
        for (int i = 0; i < count; ++i) {
            waiting.start([&, i] {
                ++begun;
                EXPECT_EQ(MPI_Win_fence(0, all[i]), MPI_SUCCESS);
                EXPECT_EQ(MPI_Put(&rank, 1, MPI_INT, next_rank, 0, 1, MPI_INT, all[i]), MPI_SUCCESS);
                EXPECT_EQ(MPI_Win_fence(0, all[i]), MPI_SUCCESS);
            });
        }
        wait_for(begun, count);
        tasks later;
        for (int i = 0; i < count; ++i) {
            if (size == 1) { // somebody must hear what is told
                waiting.start([i] { hear(i); });
            }
            later.start([i] { tell(i); });
        }
        later.wait();
    } else {
        for (int i = 0; i < count; ++i) {
            waiting.start([&, i] {
                hear(i);
                if (next_rank != 0) {
                    tell(i);
                }
                EXPECT_EQ(MPI_Win_fence(0, all[i]), MPI_SUCCESS);
                EXPECT_EQ(MPI_Put(&rank, 1, MPI_INT, next_rank, 0, 1, MPI_INT, all[i]), MPI_SUCCESS);
                EXPECT_EQ(MPI_Win_fence(0, all[i]), MPI_SUCCESS);
            });
        }
    }
    waiting.wait();
    for (int *const each : memory) {
        EXPECT_EQ(each[0], previous_rank);
    }
}

// Rank 0 has its own part locked, until tasks of all others have told it to go on. They do so in tasks that are started
// after those that ask for the lock, or whose unlock needs it.
TEST_F(windows, a_lock_blocks_the_task) {
    if (size == 1) {
        GTEST_SKIP() << "a process does not wait for its own lock";
    }
    if (rank == 0) {
        for (MPI_Win each : all) {
            ASSERT_EQ(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, each), MPI_SUCCESS);
            const int seven = 7; // the lock is held when this is done
            ASSERT_EQ(MPI_Put(&seven, 1, MPI_INT, 0, 1, 1, MPI_INT, each), MPI_SUCCESS);
            ASSERT_EQ(MPI_Win_flush(0, each), MPI_SUCCESS);
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        for (int i = 1; i < size; ++i) {
            MPI_Recv(nullptr, 0, MPI_INT, i, 77, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        for (MPI_Win each : all) {
            EXPECT_EQ(MPI_Win_unlock(0, each), MPI_SUCCESS);
        }
    } else {
        std::atomic<int> begun{0};
        std::array<int, count> seen{};
        tasks waiting;
        for (int i = 0; i < count; ++i) {
            waiting.start([&, i] {
                ++begun;
                EXPECT_EQ(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, all[i]), MPI_SUCCESS);
                EXPECT_EQ(MPI_Get(&seen[i], 1, MPI_INT, 0, 1, 1, MPI_INT, all[i]), MPI_SUCCESS);
                EXPECT_EQ(i % 2 == 0 ? MPI_Win_flush(0, all[i]) : MPI_Win_flush_local(0, all[i]), MPI_SUCCESS);
                EXPECT_EQ(MPI_Win_unlock(0, all[i]), MPI_SUCCESS);
            });
        }
        wait_for(begun, count);
        tasks later;
        later.start([] { EXPECT_EQ(MPI_Send(nullptr, 0, MPI_INT, 0, 77, MPI_COMM_WORLD), MPI_SUCCESS); });
        later.wait();
        waiting.wait();
        for (const int each : seen) {
            EXPECT_EQ(each, 7);
        }
    }
}

// Each rank exposes its part to the previous one, and accesses that of the next one.
TEST_F(windows, posts_and_starts_block_the_task) {
    if (size == 1) {
        GTEST_SKIP() << "some MPIs refuse an epoch of a process with itself";
    }
    MPI_Group world = MPI_GROUP_NULL;
    MPI_Group before = MPI_GROUP_NULL;
    MPI_Group behind = MPI_GROUP_NULL;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 1, &previous_rank, &before);
    MPI_Group_incl(world, 1, &next_rank, &behind);
    std::atomic<int> begun{0};
    tasks waiting;
    for (int i = 0; i < count; ++i) {
        waiting.start([&, i] {
            ++begun;
            if (rank % 2 == 0) { // its start waits for the post of the next one
                EXPECT_EQ(MPI_Win_post(before, 0, all[i]), MPI_SUCCESS);
            } else {
                hear(i);
                EXPECT_EQ(MPI_Win_post(before, 0, all[i]), MPI_SUCCESS);
            }
            EXPECT_EQ(MPI_Win_start(behind, 0, all[i]), MPI_SUCCESS);
            EXPECT_EQ(MPI_Put(&rank, 1, MPI_INT, next_rank, 0, 1, MPI_INT, all[i]), MPI_SUCCESS);
            EXPECT_EQ(MPI_Win_complete(all[i]), MPI_SUCCESS);
            EXPECT_EQ(MPI_Win_wait(all[i]), MPI_SUCCESS);
        });
    }
    tasks later;
    if (rank % 2 == 0) {
        wait_for(begun, count);
        for (int i = 0; i < count; ++i) {
            later.start([i] { tell(i); });
        }
    }
    later.wait();
    waiting.wait();
    for (int *const each : memory) {
        EXPECT_EQ(each[0], previous_rank);
    }
    MPI_Group_free(&world);
    MPI_Group_free(&before);
    MPI_Group_free(&behind);
}

TEST_F(windows, epochs_of_all_ranks_work_in_tasks) {
    tasks working;
    std::array<int, count> seen{};
    for (int i = 0; i < count; ++i) {
        working.start([&, i] {
            EXPECT_EQ(MPI_Win_lock_all(0, all[i]), MPI_SUCCESS);
            EXPECT_EQ(MPI_Put(&rank, 1, MPI_INT, next_rank, 0, 1, MPI_INT, all[i]), MPI_SUCCESS);
            EXPECT_EQ(MPI_Win_flush_local_all(all[i]), MPI_SUCCESS);
            EXPECT_EQ(MPI_Win_flush_all(all[i]), MPI_SUCCESS);
            EXPECT_EQ(MPI_Get(&seen[i], 1, MPI_INT, next_rank, 0, 1, MPI_INT, all[i]), MPI_SUCCESS);
            EXPECT_EQ(MPI_Win_unlock_all(all[i]), MPI_SUCCESS);
        });
    }
    working.wait();
    for (const int each : seen) {
        EXPECT_EQ(each, rank);
    }
}

TEST_F(windows, errors_are_those_of_mpi) {
#ifdef MPI_ABI_VERSION
    std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> version{};
    int length = 0;
    MPI_Get_library_version(version.data(), &length);
    if (std::string_view(version.data()).find("Intel") != std::string_view::npos) {
        GTEST_SKIP() << "Intel MPI under the standard ABI aborts, whatever the error handler of the window is";
    }
#endif
    tasks working;
    working.start([&] {
        MPI_Win_set_errhandler(all[0], MPI_ERRORS_RETURN);
        EXPECT_NE(MPI_Win_lock(MPI_LOCK_SHARED, size, 0, all[0]), MPI_SUCCESS);
    });
    working.wait();
}

} // namespace
