// SPDX-License-Identifier: BSD-3-Clause
// Races of nonblocking collectives: the threads of a process have several open at once, and any of them advances those
// of all.
#include "mpix/threadcomm/collectives.hpp"
#include "mpix/threadcomm/create.hpp"

#include "fake_mpi.hpp"

#include <thence/thence.h>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <memory>
#include <thread>
#include <vector>

namespace {

using thence::mpi::table;

#if defined(__SANITIZE_THREAD__)
constexpr int rounds = 200;
#else
constexpr int rounds = 1000;
#endif
constexpr int threads = 3;
constexpr int open = 4; // at once

int make_communicator(MPI_Comm, MPI_Comm *made) {
    *made = thence::fake::world.new_communicator();
    return MPI_SUCCESS;
}
int split(MPI_Comm comm, int, int, MPI_Comm *made) {
    return make_communicator(comm, made);
}
int forget(MPI_Comm *comm) {
    *comm = MPI_COMM_NULL;
    return MPI_SUCCESS;
}
int agree(const void *in, void *out, int, MPI_Datatype, MPI_Op, MPI_Comm) {
    *static_cast<int *>(out) = *static_cast<const int *>(in);
    return MPI_SUCCESS;
}
int gather(const void *in, int, MPI_Datatype, void *out, int, MPI_Datatype, MPI_Comm comm) {
    return agree(in, out, 1, MPI_INT, MPI_MAX, comm);
}
int one_process(MPI_Comm, int *size) {
    *size = 1;
    return MPI_SUCCESS;
}
int no_intercommunicator(MPI_Comm, int *flag) {
    *flag = 0;
    return MPI_SUCCESS;
}

int set_elements(MPI_Status *, MPI_Datatype, int) {
    return MPI_SUCCESS;
}
int set_elements_x(MPI_Status *, MPI_Datatype, MPI_Count) {
    return MPI_SUCCESS;
}
int set_cancelled(MPI_Status *, int) {
    return MPI_SUCCESS;
}

class nonblocking_stress : public ::testing::Test {
protected:
    nonblocking_stress() {
        thence::fake::world.begin({});
        table.Comm_dup = &make_communicator;
        table.Comm_split = &split;
        table.Comm_free = &forget;
        table.Comm_size = &one_process;
        table.Comm_test_inter = &no_intercommunicator;
        table.Allgather = &gather;
        table.Allreduce = &agree;
        table.Status_set_elements = &set_elements;
        table.Status_set_elements_x = &set_elements_x;
        table.Status_set_cancelled = &set_cancelled;
    }
    ~nonblocking_stress() override { thence::fake::world.end(); }
};

} // namespace

TEST_F(nonblocking_stress, a_barrier_ends_when_all_threads_have_begun_it) {
    MPI_Comm comm = MPI_COMM_NULL;
    ASSERT_EQ(thence::threadcomm::init("init", MPI_COMM_WORLD, threads, &comm), MPI_SUCCESS);
    auto *const whole = thence::threadcomm::find(comm);
    ASSERT_NE(whole, nullptr);
    std::vector<std::atomic<int>> begun(rounds);
    std::vector<std::thread> all;
    for (int i = 0; i < threads; ++i) {
        all.emplace_back([&, i] {
            EXPECT_EQ(thence::threadcomm::start("start", comm, i), MPI_SUCCESS);
            std::array<MPI_Request, open> requests;
            const auto wait_for = [&](int round) {
                MPI_Request &request = requests[static_cast<std::size_t>(round % open)];
                for (int flag = 0; flag == 0;) {
                    thence_progress();
                    EXPECT_EQ(table.Test(&request, &flag, MPI_STATUS_IGNORE), MPI_SUCCESS);
                }
                EXPECT_EQ(begun[static_cast<std::size_t>(round)].load(), threads);
            };
            for (int round = 0; round < rounds; ++round) {
                if (round >= open) {
                    wait_for(round - open);
                }
                begun[static_cast<std::size_t>(round)].fetch_add(1);
                thence::threadcomm::collective_call call("MPI_Ibarrier", *whole,
                                                         &requests[static_cast<std::size_t>(round % open)]);
                EXPECT_EQ(thence::threadcomm::barrier(call), MPI_SUCCESS);
            }
            for (int round = rounds - open; round < rounds; ++round) {
                wait_for(round);
            }
            EXPECT_EQ(thence::threadcomm::finish("finish", comm), MPI_SUCCESS);
        });
    }
    for (std::thread &each : all) {
        each.join();
    }
    EXPECT_EQ(thence::threadcomm::free_root("free", &comm), MPI_SUCCESS);
}
