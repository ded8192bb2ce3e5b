// SPDX-License-Identifier: BSD-3-Clause
// Active messages on the real MPI use bounded memory: a million as much as some thousand, and a receiver that handles
// none costs its sender and itself no more than am.h says. Measured is what the C library has given out.
//
// THENCE_TEST_MESSAGES: how many messages; the default is small, since all tests run on a loaded machine.
#include <thence/am.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <malloc.h>
#include <vector>

namespace {

constexpr std::size_t kib = 1024;

std::size_t memory_in_use() {
    const struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

std::size_t growth_since(std::size_t before) {
    const std::size_t now = memory_in_use();
    return now > before ? now - before : 0;
}

class am_memory : public ::testing::Test {
protected:
    void SetUp() override {
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        MPI_Comm_size(MPI_COMM_WORLD, &size);
    }
    void begin(const thence_am_options &options = {}) {
        ASSERT_EQ(thence_am_create(MPI_COMM_WORLD, &options, sizeof options, &am), MPI_SUCCESS);
        ASSERT_EQ(thence_am_register(am, 0, &count, &handled, 0), MPI_SUCCESS);
        ASSERT_EQ(thence_am_register(am, 1, &count, &handled, THENCE_AM_SHORT), MPI_SUCCESS);
    }
    void TearDown() override { EXPECT_EQ(thence_am_free(&am), MPI_SUCCESS); }
    static int count(const thence_am_message *, void *data) {
        static_cast<std::atomic<long> *>(data)->fetch_add(1);
        return MPI_SUCCESS;
    }
    // To the next rank, by handlers of both kinds. All are handled on return.
    void send_right(long messages) {
        for (long i = 0; i < messages; ++i) {
            ASSERT_EQ(thence_am_send(am, (rank + 1) % size, static_cast<int>(i % 2), &i, sizeof i), MPI_SUCCESS);
        }
        ASSERT_EQ(thence_am_quiesce(am), MPI_SUCCESS);
    }

    int rank = 0;
    int size = 1;
    thence_am am = nullptr;
    std::atomic<long> handled{0};
};

// Ten times as many messages as at first, in ten parts. Memory that a message keeps shows in each part. MPI's own
// stocks grow in some of them, and at once: requests of MPICH 5 by 1 MiB, at any time.
TEST_F(am_memory, does_not_grow_with_the_number_of_messages) {
    constexpr std::size_t parts = 10;
    const char *const text = std::getenv("THENCE_TEST_MESSAGES");
    const long in_a_part = (text != nullptr ? std::atol(text) : 100000) / static_cast<long>(parts);
    thence_am_options options{};
    options.max_queued = 16 * kib; // the first messages reach it
    begin(options);
    constexpr long at_first = 20000;
    send_right(at_first);
    const std::size_t at_start = memory_in_use();
    std::array<std::size_t, parts> growth{};
    for (std::size_t &grown : growth) {
        const std::size_t before = memory_in_use();
        send_right(in_a_part);
        grown = growth_since(before);
    }
    const std::size_t in_all = growth_since(at_start);
    std::ranges::sort(growth);
    const std::size_t median = growth.at(parts / 2);
    RecordProperty("median", static_cast<int>(median));
    RecordProperty("growth", static_cast<int>(in_all));
    EXPECT_LT(median, static_cast<std::size_t>(in_a_part)); // less than a byte for each
    EXPECT_LT(in_all, 3 * kib * kib);
    EXPECT_GE(handled, at_first + in_a_part * static_cast<long>(parts));
}

// Rank 0 sends as fast as it can, while the others make progress, but handle nothing.
TEST_F(am_memory, is_bounded_while_a_receiver_handles_nothing) {
    constexpr std::size_t bytes = 1000;
    constexpr int attempts = 20000; // 20 MB, if all were sent or queued
    thence_am_options options{};
    options.window = 8;
    options.max_queued = 64 * kib;
    begin(options);
    MPI_Barrier(MPI_COMM_WORLD);
    const std::size_t before = memory_in_use();
    std::vector<long> accepted(static_cast<std::size_t>(size));
    if (rank == 0) {
        const std::vector<char> payload(bytes);
        for (int i = 0; i < attempts; ++i) {
            for (int to = 1; to < size; ++to) {
                int sent = 0;
                ASSERT_EQ(thence_am_try_send(am, to, 0, payload.data(), bytes, &sent), MPI_SUCCESS);
                accepted[static_cast<std::size_t>(to)] += sent;
            }
            thence_progress();
        }
        thence_am_info info{};
        ASSERT_EQ(thence_am_query(am, &info, sizeof info), MPI_SUCCESS);
        EXPECT_LE(info.queued, static_cast<std::size_t>(size) * (options.max_queued + 2 * bytes));
    }
    MPI_Request over = MPI_REQUEST_NULL;
    MPI_Ibarrier(MPI_COMM_WORLD, &over);
    for (int flag = 0; flag == 0;) {
        MPI_Test(&over, &flag, MPI_STATUS_IGNORE); // progress, but no handler
    }
    // For each pair: what is queued, and the window on its way, at both ends.
    const std::size_t bound =
        static_cast<std::size_t>(size) * (options.max_queued + 3 * 8 * (3840 + 96)) + 512 * kib; // and MPI's own
    EXPECT_LT(growth_since(before), bound);
    EXPECT_EQ(handled, 0);
    ASSERT_EQ(thence_am_quiesce(am), MPI_SUCCESS);
    MPI_Bcast(accepted.data(), size, MPI_LONG, 0, MPI_COMM_WORLD);
    EXPECT_EQ(handled, accepted[static_cast<std::size_t>(rank)]);
    if (rank != 0) {
        EXPECT_GT(handled, 8);
        EXPECT_LT(handled, attempts / 2);
    }
}

} // namespace
