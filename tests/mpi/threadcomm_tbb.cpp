// SPDX-License-Identifier: BSD-3-Clause
// Thread communicators whose threads are those of an arena of oneTBB. A thread waits in the start until all have come,
// so each of `threads` tasks runs on a thread of its own, also on a machine with fewer cores.
#include <thence/mpix.h>

#include <gtest/gtest.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>

#include <array>
#include <atomic>

namespace {

constexpr int threads = 4;
constexpr int restarts = 20;

class threadcomm_tbb : public ::testing::Test {
protected:
    threadcomm_tbb() {
        MPI_Comm_rank(MPI_COMM_WORLD, &process);
        MPI_Comm_size(MPI_COMM_WORLD, &processes);
        EXPECT_EQ(MPIX_Threadcomm_init(MPI_COMM_WORLD, threads, &comm), MPI_SUCCESS);
    }
    ~threadcomm_tbb() override { EXPECT_EQ(MPIX_Threadcomm_free(&comm), MPI_SUCCESS); }

    // Runs `body` once on each of `threads` threads of the arena.
    template <class Body> void on_each_thread(const Body &body) {
        arena.execute([&] {
            tbb::task_group group;
            for (int i = 0; i < threads; ++i) {
                group.run(body);
            }
            group.wait();
        });
    }
    int my_rank() const {
        int rank = -1;
        EXPECT_EQ(MPI_Comm_rank(comm, &rank), MPI_SUCCESS);
        return rank;
    }
    // A message around all threads of all processes, and a sum over them.
    void communicate(int rank) const {
        const int size = processes * threads;
        int got = -1;
        EXPECT_EQ(MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 0, &got, 1, MPI_INT, (rank + size - 1) % size, 0,
                               comm, MPI_STATUS_IGNORE),
                  MPI_SUCCESS);
        EXPECT_EQ(got, (rank + size - 1) % size);
        int sum = -1;
        EXPECT_EQ(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm), MPI_SUCCESS);
        EXPECT_EQ(sum, size * (size - 1) / 2);
    }

    MPI_Comm comm = MPI_COMM_NULL;
    int process = 0;
    int processes = 1;

private:
    // One of the threads is that which calls execute().
    tbb::global_control enough{tbb::global_control::max_allowed_parallelism, threads};
    tbb::task_arena arena{threads};
};

} // namespace

TEST_F(threadcomm_tbb, a_thread_of_the_arena_keeps_its_rank_over_restarts) {
    struct last_region {
        int round = -1;
        int rank = -1;
    };
    static thread_local last_region last; // oneTBB may replace threads between regions
    last = {};
    for (int round = 0; round < restarts; ++round) {
        std::array<std::atomic<int>, threads> seen{};
        on_each_thread([&] {
            ASSERT_EQ(MPIX_Threadcomm_start(comm), MPI_SUCCESS);
            const int rank = my_rank();
            if (last.round >= 0 && last.round == round - 1) {
                EXPECT_EQ(rank, last.rank);
            }
            last = {round, rank};
            communicate(rank);
            ++seen.at(static_cast<std::size_t>(rank - process * threads));
            EXPECT_EQ(MPIX_Threadcomm_finish(comm), MPI_SUCCESS);
        });
        for (const auto &each : seen) {
            EXPECT_EQ(each, 1);
        }
    }
    EXPECT_EQ(last.round, restarts - 1) << "this thread takes part in each region";
}

TEST_F(threadcomm_tbb, the_index_of_a_thread_in_the_arena_may_choose_its_rank) {
    for (int round = 0; round < restarts; ++round) {
        on_each_thread([&] {
            const int index = tbb::this_task_arena::current_thread_index();
            ASSERT_EQ(thence_threadcomm_start_as(comm, index), MPI_SUCCESS);
            const int rank = my_rank();
            EXPECT_EQ(rank, process * threads + index);
            communicate(rank);
            EXPECT_EQ(MPIX_Threadcomm_finish(comm), MPI_SUCCESS);
        });
    }
}
