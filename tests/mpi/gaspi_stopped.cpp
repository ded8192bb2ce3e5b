// SPDX-License-Identifier: BSD-3-Clause
// A rank that is stopped in the middle of its writes, while all others write to it: it holds up nobody else.
#include "gaspi.hpp"
#include "onesided.hpp"

#include <csignal>
#include <unistd.h>
#include <vector>

namespace {

constexpr gaspi_timeout_t long_enough = 40'000;
constexpr gaspi_size_t area = 100'000; // of each rank: some packets
constexpr gaspi_size_t small = 1000;   // a part of a packet

gaspi_offset_t area_of(gaspi_rank_t rank) {
    return rank * area;
}

class gaspi_stopped : public gaspi {
protected:
    static constexpr gaspi_notification_id_t is_over = 1, is_stopped = 2, has_begun = 500, has_gone_round = 1000,
                                             of_rank = 2000, of_round = 3000;
    static constexpr gaspi_queue_id_t to_stopped = 1;

    static gaspi_notification_t await_soon(gaspi_notification_id_t id) {
        gaspi_notification_id_t found = 0;
        gaspi_notification_t value = 0;
        EXPECT_EQ(gaspi_notify_waitsome(0, id, 1, &found, long_enough), GASPI_SUCCESS) << "notification " << id;
        EXPECT_EQ(gaspi_notify_reset(0, id, &value), GASPI_SUCCESS);
        return value;
    }

    // What the rank does that is stopped: it writes to all others until it is told, then looks for what they have
    // written.
    void write_until_over() {
        for (gaspi_notification_t value = 0; value == 0;) {
            for (gaspi_rank_t to = 0; to < stopped; ++to) {
                EXPECT_EQ(
                    gaspi_write_notify(0, area_of(rank), to, 0, area_of(rank), area, of_rank + rank, 1, 0, GASPI_BLOCK),
                    GASPI_SUCCESS);
            }
            EXPECT_EQ(gaspi_wait(0, GASPI_BLOCK), GASPI_SUCCESS);
            EXPECT_EQ(gaspi_notify_reset(0, is_over, &value), GASPI_SUCCESS);
        }
        for (gaspi_rank_t from = 0; from < stopped; ++from) {
            await_soon(of_rank + from);
            EXPECT_EQ(
                std::count(memory + area_of(from), memory + area_of(from) + area, static_cast<unsigned char>(from + 1)),
                static_cast<std::ptrdiff_t>(area));
        }
    }

    // What the others do meanwhile.
    void write_to_stopped() {
        for (gaspi_offset_t at = 0; at < area; at += small) {
            EXPECT_EQ(
                gaspi_write(0, area_of(rank) + at, stopped, 0, area_of(rank) + at, small, to_stopped, long_enough),
                GASPI_SUCCESS);
        }
        EXPECT_EQ(gaspi_write_notify(0, area_of(rank), stopped, 0, area_of(rank), area, of_rank + rank, 1, to_stopped,
                                     long_enough),
                  GASPI_SUCCESS);
    }
    void write_round() {
        const auto after = static_cast<gaspi_rank_t>((rank + 1) % stopped);
        const auto before = static_cast<gaspi_rank_t>((rank + stopped - 1) % stopped);
        constexpr gaspi_notification_t rounds = 30;
        for (gaspi_notification_t round = 1; round <= rounds; ++round) {
            // A notification for each round, since a rank may be one round ahead.
            EXPECT_EQ(gaspi_write_notify(0, area_of(rank), after, 0, area_of(rank), area, of_round + round, round, 0,
                                         long_enough),
                      GASPI_SUCCESS);
            ASSERT_EQ(await_soon(of_round + round), round);
            EXPECT_EQ(memory[area_of(before) + area - 1], before + 1);
        }
        EXPECT_EQ(gaspi_wait(0, long_enough), GASPI_SUCCESS);
    }
    void ask_for_some_time() {
        constexpr int asked = 50;
        gaspi_return_t code = GASPI_ERROR;
        const double took = ms_of([&] { code = gaspi_wait(to_stopped, asked); });
        // Memory needs nobody on the other side.
        EXPECT_TRUE(code == GASPI_TIMEOUT || (code == GASPI_SUCCESS && !only_messages())) << code;
        EXPECT_GE(took, code == GASPI_TIMEOUT ? asked : 0);
        EXPECT_LE(took, asked + 10'000) << "it does not wait for the stopped rank";
        std::vector<gaspi_state_t> states(size, GASPI_STATE_CORRUPT);
        EXPECT_EQ(gaspi_state_vec_get(states.data()), GASPI_SUCCESS);
        EXPECT_EQ(std::count(states.begin(), states.end(), GASPI_STATE_HEALTHY), size) << "it has not ended";
    }

    gaspi_rank_t stopped = 0; // the last one
    unsigned char *memory = nullptr;
};

TEST_F(gaspi_stopped, holds_up_nobody_else) {
    std::vector<int> processes(size);
    int own = getpid();
    MPI_Allgather(&own, 1, MPI_INT, processes.data(), 1, MPI_INT, MPI_COMM_WORLD);
    const std::vector<bool> here = on_this_host();
    if (size < 3 || std::count(here.begin(), here.end(), true) != size) {
        GTEST_SKIP() << "with two other ranks on this host";
    }
    if (is_intel_mpi() && only_messages()) {
        GTEST_SKIP() << "Intel MPI: if a process is stopped inside of MPI_Isend, its receivers get no other message";
    }
    stopped = static_cast<gaspi_rank_t>(size - 1);
    memory = make(0, size * area);
    std::fill_n(memory + area_of(rank), area, static_cast<unsigned char>(rank + 1));
    ASSERT_EQ(gaspi_barrier(GASPI_GROUP_ALL, GASPI_BLOCK), GASPI_SUCCESS);
    if (rank == stopped) {
        write_until_over();
    } else {
        await_soon(of_rank + stopped); // it is in the middle of its writes
        if (rank == 0) {
            for (gaspi_rank_t other = 1; other < stopped; ++other) { // each has had its first write
                EXPECT_EQ(await_soon(has_begun + other), 1U);
            }
            stop(processes[stopped]);
            for (gaspi_rank_t to = 1; to < stopped; ++to) {
                EXPECT_EQ(gaspi_notify(0, to, is_stopped, 1, 0, long_enough), GASPI_SUCCESS);
            }
        } else {
            EXPECT_EQ(gaspi_notify(0, 0, has_begun + rank, 1, 0, long_enough), GASPI_SUCCESS);
            EXPECT_EQ(await_soon(is_stopped), 1U);
        }
        write_to_stopped();
        write_round();
        ask_for_some_time();
        if (rank == 0) {
            for (gaspi_rank_t other = 1; other < stopped; ++other) {
                EXPECT_EQ(await_soon(has_gone_round + other), 1U);
            }
            EXPECT_EQ(kill(processes[stopped], SIGCONT), 0);
            EXPECT_EQ(gaspi_notify(0, stopped, is_over, 1, 0, long_enough), GASPI_SUCCESS);
        } else {
            EXPECT_EQ(gaspi_notify(0, 0, has_gone_round + rank, 1, 0, long_enough), GASPI_SUCCESS);
        }
        EXPECT_EQ(gaspi_wait(to_stopped, long_enough), GASPI_SUCCESS);
    }
    EXPECT_EQ(gaspi_wait(0, long_enough), GASPI_SUCCESS);
    ASSERT_EQ(gaspi_barrier(GASPI_GROUP_ALL, long_enough), GASPI_SUCCESS);
}

} // namespace
