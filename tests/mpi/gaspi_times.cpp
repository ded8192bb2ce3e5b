// SPDX-License-Identifier: BSD-3-Clause
// Time-outs of GASPI: each call returns within 20 ms of its time, and succeeds when it is called again later.
#include "gaspi.hpp"
#include "onesided.hpp"

#include <csignal>
#include <unistd.h>
#include <vector>

namespace {

constexpr int asked = 30;

TEST_F(gaspi, time_outs_return_within_20_ms) {
    make(0, 64);
    expect_time(asked, [](gaspi_timeout_t time) {
        gaspi_notification_id_t id = 0;
        return gaspi_notify_waitsome(0, 0, 10, &id, time);
    });
    expect_time(asked, [](gaspi_timeout_t time) {
        gaspi_rank_t from = 0;
        return gaspi_passive_receive(0, 0, &from, 8, time);
    });
    expect_time(asked, [](gaspi_timeout_t time) {
        gaspi_number_t found = 0;
        gaspi_tag_t tag = 0;
        gaspi_status_t status;
        return gaspi_request_wait(0, 1, &found, &tag, &status, time);
    });
    MPI_Barrier(MPI_COMM_WORLD);
    if (size > 1 && rank == 0) {
        expect_time(asked, [](gaspi_timeout_t time) { return gaspi_barrier(GASPI_GROUP_ALL, time); });
    }
    MPI_Barrier(MPI_COMM_WORLD);
    EXPECT_EQ(gaspi_barrier(GASPI_GROUP_ALL, GASPI_BLOCK), GASPI_SUCCESS);
}

TEST_F(gaspi, a_commit_that_timed_out_goes_on_in_a_new_group_of_the_same_ranks) {
    if (size == 1) {
        GTEST_SKIP() << "it waits for nobody";
    }
    constexpr gaspi_timeout_t long_enough = 20'000;
    const auto make_group = [&] {
        gaspi_group_t made = 0;
        EXPECT_EQ(gaspi_group_create(&made), GASPI_SUCCESS);
        for (gaspi_rank_t each = 0; each < size; ++each) {
            EXPECT_EQ(gaspi_group_add(made, each), GASPI_SUCCESS);
        }
        return made;
    };
    for (gaspi_rank_t late = 0; late < size; ++late) {
        for (int i = 0; i < 2 && rank != late; ++i) {
            const gaspi_group_t given_up = make_group();
            ASSERT_EQ(gaspi_group_commit(given_up, asked), GASPI_TIMEOUT);
            ASSERT_EQ(gaspi_group_delete(given_up), GASPI_SUCCESS);
        }
        MPI_Barrier(MPI_COMM_WORLD);
        for (int i = 0; i < 2; ++i) {
            const gaspi_group_t all = make_group();
            ASSERT_EQ(gaspi_group_commit(all, long_enough), GASPI_SUCCESS);
            ASSERT_EQ(gaspi_barrier(all, long_enough), GASPI_SUCCESS);
            ASSERT_EQ(gaspi_group_delete(all), GASPI_SUCCESS);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

// Members that differ between two processes are told by nothing but the time: they may be two groups.
TEST_F(gaspi, a_commit_of_other_ranks_times_out_and_that_of_the_same_ranks_is_made_after_it) {
    if (size == 1) {
        GTEST_SKIP() << "it waits for nobody";
    }
    constexpr gaspi_timeout_t long_enough = 20'000;
    const auto pair_with = [](gaspi_rank_t more, bool has_first = true) {
        gaspi_group_t made = 0;
        EXPECT_EQ(gaspi_group_create(&made), GASPI_SUCCESS);
        EXPECT_TRUE(!has_first || gaspi_group_add(made, 0) == GASPI_SUCCESS);
        EXPECT_EQ(gaspi_group_add(made, 1), GASPI_SUCCESS);
        EXPECT_TRUE(more < 2 || gaspi_group_add(made, more) == GASPI_SUCCESS);
        return made;
    };
    if (rank < 2) {
        // Rank 0: 0 and 1. Rank 1: with 2, or alone where there are but two.
        const gaspi_group_t differs = rank == 0 ? pair_with(0) : pair_with(2 % size, size > 2);
        const bool is_alone = rank == 1 && size == 2;
        EXPECT_EQ(gaspi_group_commit(differs, asked), is_alone ? GASPI_SUCCESS : GASPI_TIMEOUT);
        EXPECT_EQ(gaspi_group_commit(differs, asked), is_alone ? GASPI_ERR_INV_GROUP : GASPI_TIMEOUT);
        EXPECT_EQ(gaspi_group_delete(differs), GASPI_SUCCESS);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank < 2) {
        const gaspi_group_t pair = pair_with(0);
        EXPECT_EQ(gaspi_group_commit(pair, long_enough), GASPI_SUCCESS);
        EXPECT_EQ(gaspi_barrier(pair, long_enough), GASPI_SUCCESS);
        EXPECT_EQ(gaspi_group_delete(pair), GASPI_SUCCESS);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

class gaspi_times : public configured_gaspi {
protected:
    static constexpr gaspi_size_t passive = 1'000'000; // most MPIs send less than that before it is received
    void configure(gaspi_config_t &config) override {
        config.passive_queue_size_max = 2;
        config.passive_transfer_size_max = passive;
    }
};

TEST_F(gaspi_times, are_kept_by_calls_that_wait_for_a_stopped_rank_which_succeed_when_it_goes_on) {
    constexpr gaspi_size_t bytes = 60'000; // more than a packet
    unsigned char *const memory = make(0, 2 * passive);
    std::fill_n(memory, bytes, static_cast<unsigned char>(rank + 1));
    ASSERT_EQ(gaspi_segment_alloc(2, 64, GASPI_MEM_INITIALIZED), GASPI_SUCCESS);
    std::vector<int> processes(size);
    int own = getpid();
    MPI_Allgather(&own, 1, MPI_INT, processes.data(), 1, MPI_INT, MPI_COMM_WORLD);
    const std::vector<bool> here = on_this_host();
    if (size == 1 || std::count(here.begin(), here.end(), true) != size) {
        GTEST_SKIP() << "with other ranks on this host";
    }
    gaspi_group_t pair = 0;
    if (rank < 2) {
        ASSERT_EQ(gaspi_group_create(&pair), GASPI_SUCCESS);
        ASSERT_EQ(gaspi_group_add(pair, 0), GASPI_SUCCESS);
        ASSERT_EQ(gaspi_group_add(pair, 1), GASPI_SUCCESS);
    }
    const auto read = [&](gaspi_timeout_t time) { return gaspi_wait(2, time); };
    gaspi_atomic_value_t old = 77;
    const auto add = [&](gaspi_timeout_t time) { return gaspi_atomic_fetch_add(2, 8, 1, 1, &old, time); };
    int in = 1 << rank;
    int sum = 0;
    const auto reduce = [&](gaspi_timeout_t time) {
        return gaspi_allreduce(&in, &sum, 1, GASPI_OP_SUM, GASPI_TYPE_INT, GASPI_GROUP_ALL, time);
    };
    const auto send = [&](gaspi_timeout_t time) { return gaspi_passive_send(0, 0, 1, passive, time); };
    gaspi_rank_t from = 9;
    const auto receive = [&](gaspi_timeout_t time) { return gaspi_passive_receive(0, passive, &from, passive, time); };
    constexpr int most_sent = 20;
    int sent = 0;
    const auto create = [&](gaspi_timeout_t time) {
        return gaspi_segment_create(1, 64, GASPI_GROUP_ALL, time, GASPI_MEM_INITIALIZED);
    };
    const auto commit = [&](gaspi_timeout_t time) { return gaspi_group_commit(pair, time); };
    const auto tell = [&](gaspi_timeout_t time) { return gaspi_segment_register(2, 1, time); };
    ASSERT_EQ(gaspi_segment_register(2, 0, GASPI_BLOCK), GASPI_SUCCESS);
    if (rank == 1) {
        ASSERT_EQ(gaspi_passive_send(0, 0, 0, passive, GASPI_BLOCK), GASPI_SUCCESS);
    }
    bool has_received = false;
    ASSERT_EQ(gaspi_barrier(GASPI_GROUP_ALL, GASPI_BLOCK), GASPI_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        stop(processes[1]);
        while (gaspi_proc_ping(1, 100) != GASPI_TIMEOUT) { // what it has answered before is here
        }
        ASSERT_EQ(gaspi_read(0, bytes, 1, 0, 0, bytes, 2, GASPI_BLOCK), GASPI_SUCCESS);
        while (sent != most_sent && send(GASPI_TEST) == GASPI_SUCCESS) {
            ++sent;
        }
        has_received = receive(asked) == GASPI_SUCCESS; // an MPI may read the memory of the other
        if (!has_received) {
            expect_time(asked, receive);
        }
        if (only_messages()) { // else it is complete: the ping does not hold it up
            expect_time(asked, read);
            expect_time(asked, [](gaspi_timeout_t time) { return gaspi_queue_purge(2, time); });
            expect_time(asked, add);
        }
        expect_time(asked, reduce);
        if (sent != most_sent) {
            expect_time(asked, send);
        }
        expect_time(asked, create);
        expect_time(asked, commit);
        expect_time(asked, tell);
        expect_time(asked, [](gaspi_timeout_t time) { return gaspi_proc_ping(1, time); });
        if (only_messages()) { // the read and the atomic operation are not complete
            expect_time(asked, [](gaspi_timeout_t time) { return gaspi_proc_term(time); });
        } else {
            EXPECT_EQ(gaspi_proc_term(asked), GASPI_ERR_ACTIVE_COLL) << "the reduction is not complete";
        }
        EXPECT_EQ(old, 77U);
        EXPECT_EQ(sum, 0);
        ASSERT_EQ(kill(processes[1], SIGCONT), 0);
    }
    MPI_Bcast(&sent, 1, MPI_INT, 0, MPI_COMM_WORLD);
    EXPECT_EQ(reduce(GASPI_BLOCK), GASPI_SUCCESS);
    EXPECT_EQ(sum, (1 << size) - 1);
    if (rank == 0) {
        if (!has_received) {
            EXPECT_EQ(receive(GASPI_BLOCK), GASPI_SUCCESS);
        }
        EXPECT_EQ(from, 1);
        EXPECT_EQ(std::count(memory + passive, memory + passive + bytes, static_cast<unsigned char>(2)),
                  static_cast<std::ptrdiff_t>(bytes));
        EXPECT_EQ(read(GASPI_BLOCK), GASPI_SUCCESS);
        EXPECT_EQ(std::count(memory + bytes, memory + 2 * bytes, static_cast<unsigned char>(2)),
                  static_cast<long>(bytes));
        EXPECT_EQ(add(GASPI_BLOCK), GASPI_SUCCESS);
        EXPECT_EQ(old, 0U);
        EXPECT_EQ(add(GASPI_BLOCK), GASPI_SUCCESS);
        EXPECT_EQ(old, 1U) << "the one whose time was over was done once";
        EXPECT_EQ(send(GASPI_BLOCK), GASPI_SUCCESS);
        EXPECT_EQ(tell(GASPI_BLOCK), GASPI_SUCCESS);
    } else if (rank == 1) {
        for (int i = 0; i < sent + 1; ++i) {
            gaspi_rank_t sender = 9;
            EXPECT_EQ(gaspi_passive_receive(0, passive, &sender, passive, GASPI_BLOCK), GASPI_SUCCESS);
            EXPECT_EQ(sender, 0);
        }
    }
    EXPECT_EQ(create(GASPI_BLOCK), GASPI_SUCCESS);
    if (rank < 2) {
        EXPECT_EQ(commit(GASPI_BLOCK), GASPI_SUCCESS);
        EXPECT_EQ(gaspi_barrier(pair, GASPI_BLOCK), GASPI_SUCCESS);
    }
    EXPECT_EQ(gaspi_notify(1, next, 3, 1, 0, GASPI_BLOCK), GASPI_SUCCESS) << "the segment is known to all";
    EXPECT_EQ(await(1, 3), 1U);
    ASSERT_EQ(gaspi_barrier(GASPI_GROUP_ALL, GASPI_BLOCK), GASPI_SUCCESS);
}

} // namespace
