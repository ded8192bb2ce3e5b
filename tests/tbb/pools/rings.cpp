// SPDX-License-Identifier: BSD-3-Clause
// The ring benchmark ends and its messages are right in every mode of normal priority, below and above the eager limit.
// In pika every blocking method with inline requests deadlocks it at 128 KiB, and at 8 KiB.
#include "all_modes.hpp"
#include "ring/by_senders.hpp"
#include "ring/by_testsome.hpp"

namespace {

class ring_in : public testing::TestWithParam<thence::completion_mode> {};

TEST_P(ring_in, ends_at_every_message_size) {
    for (const int bytes : {64, 8192, 131072}) {
        ring::traffic traffic(bytes);
        ring::by_senders rings(traffic, ring::in_pools{&shared_pools(), GetParam()});
        rings.run(ranks() == 4 ? 2 : 8);
        EXPECT_FALSE(traffic.wrong()) << bytes << " bytes";
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

// As many rings in flight as in the paper. There, blocking methods with inline requests deadlock.
TEST_P(ring_in, ends_with_all_rings_in_flight) {
    if (ranks() == 4) {
        GTEST_SKIP() << "the same with 2 ranks";
    }
    ring::traffic traffic(131072);
    ring::by_senders rings(traffic, ring::in_pools{&shared_pools(), GetParam()});
    rings.run(traffic.in_flight() + 8);
    EXPECT_FALSE(traffic.wrong());
    MPI_Barrier(MPI_COMM_WORLD);
}

// High priority changes only the order of tasks.
std::vector<thence::completion_mode> modes_of_normal_priority() {
    std::vector<thence::completion_mode> modes = all_modes();
    std::erase_if(modes, [](const thence::completion_mode &each) {
        return each.high_priority || (each.bypass && each.inline_completion);
    });
    return modes;
}
INSTANTIATE_TEST_SUITE_P(all, ring_in, testing::ValuesIn(modes_of_normal_priority()), name_of);

// With several workers, runners of the queue begin, end and change threads concurrently.
TEST(ring_with_workers, ends_with_every_method) {
    thence::pools pools({.workers = 3});
    for (const char *mode : {"continuation,inline-request", "continuation,mpi-pool", "new-task,inline-request",
                             "suspend-resume,inline-request", "suspend-resume", "yield-while",
                             "mpix,inline-request,bypass", "continuation,inline-request,inline-completion"}) {
        for (const int bytes : {64, 8192}) {
            ring::traffic traffic(bytes);
            ring::by_senders rings(traffic, ring::in_pools{&pools, thence::parse_completion_mode(mode)});
            rings.run(ranks() == 4 ? 2 : 8);
            EXPECT_FALSE(traffic.wrong()) << mode;
            MPI_Barrier(MPI_COMM_WORLD);
        }
    }
}

template <class... Options> void without_pools_at_every_size() {
    for (const int bytes : {64, 8192, 131072}) {
        ring::traffic traffic(bytes);
        ring::by_senders rings(traffic, ring::without_pools<Options...>());
        rings.run(ranks() == 4 ? 2 : 8);
        EXPECT_FALSE(traffic.wrong()) << bytes << " bytes";
        MPI_Barrier(MPI_COMM_WORLD);
    }
}
TEST(ring_without_pools, ends_at_every_message_size) {
    without_pools_at_every_size<>();
}
TEST(ring_without_pools, ends_at_every_message_size_in_completions) {
    without_pools_at_every_size<thence::in_completion_t>();
}

TEST(ring_by_testsome, ends_at_every_message_size) {
    for (const int bytes : {64, 8192, 131072}) {
        ring::traffic traffic(bytes);
        for (const bool eager : {false, true}) {
            ring::by_testsome rings(traffic, eager);
            rings.run(ranks() == 4 ? 2 : 8);
            EXPECT_FALSE(traffic.wrong());
            MPI_Barrier(MPI_COMM_WORLD);
        }
    }
}

} // namespace
