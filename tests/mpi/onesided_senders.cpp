// SPDX-License-Identifier: BSD-3-Clause
// One-sided operations and notifications as senders (notify.hpp).
#include "support.hpp"

#include <thence/exec.hpp>
#include <thence/notify.hpp>

#include <algorithm>
#include <numeric>
#include <span>
#include <vector>

namespace {

namespace ex = thence::ex;

ex::task<int> ring(const thence::space &all, const thence::segment &segment) {
    const int next = (all.rank() + 1) % all.size();
    const int previous = (all.rank() + all.size() - 1) % all.size();
    std::vector<int> row(30000);
    int sum = 0;
    for (int round = 1; round <= 5; ++round) {
        std::iota(row.begin(), row.end(), 100 * all.rank() + round);
        co_await segment.put_notify(std::span(row), next, 0, 0, static_cast<std::uint32_t>(round));
        std::fill(row.begin(), row.end(), -1); // it may be written again
        EXPECT_EQ(co_await segment.notified(0), static_cast<std::uint32_t>(round));
        int first = 0;
        std::memcpy(&first, segment.memory().data(), sizeof first);
        EXPECT_EQ(first, 100 * previous + round);
        sum += first;
        segment.notify(previous, 1);
        co_await segment.notified(1);
    }
    co_return sum;
}

TEST(onesided_senders, coroutines_await_notifications) {
    const thence::space all(MPI_COMM_WORLD);
    const thence::segment segment(all, 120000, 2);
    EXPECT_EQ(segment.memory().size(), 120000U);
    const auto [sum] = *thence::sync_wait(ring(all, segment));
    EXPECT_EQ(sum, 5 * 100 * ((all.rank() + all.size() - 1) % all.size()) + 15);
}

TEST(onesided_senders, operations_can_be_joined) {
    const thence::space all(MPI_COMM_WORLD, 2);
    std::vector<std::uint64_t> memory(20000, 0);
    const thence::segment segment(all, std::as_writable_bytes(std::span(memory)), 11);
    const int next = (all.rank() + 1) % all.size();
    const std::vector<std::uint64_t> out(10000, 7);
    std::vector<std::uint64_t> in(10000, 0);
    std::vector<std::uint32_t> values(10, 0);
    for (unsigned i = 0; i < 10; ++i) {
        segment.notify(next, i, i + 1);
    }
    thence::sync_wait(ex::when_all(segment.put(std::span(out), next, 80), segment.notified(0, values)));
    EXPECT_EQ(std::accumulate(values.begin(), values.end(), 0U), 55U);
    thence::sync_wait(segment.get(std::span(in), next, 80)); // behind the put, on its queue
    EXPECT_EQ(in, out);
    const auto [old] = *thence::sync_wait(segment.fetch_add(5, next, 0));
    EXPECT_EQ(old, 0U);
    const auto [seen] = *thence::sync_wait(segment.compare_swap(5, 9, next, 0));
    EXPECT_EQ(seen, 5U);
    segment.notify(next, 10);
    thence::sync_wait(segment.notified(10)); // behind the swap of the process before
    EXPECT_EQ(memory[0], 9U);
    all.flush();
}

TEST(onesided_senders, errors_are_exceptions) {
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, errors_return());
    EXPECT_THROW(thence::space(MPI_COMM_WORLD, 0), thence::error);
    const thence::space all(MPI_COMM_WORLD);
    const thence::segment segment(all, 10, 1);
    const std::vector<char> eleven(11);
    EXPECT_THROW(thence::sync_wait(segment.put(std::span(eleven), 0, 0)), thence::mpi_error);
    EXPECT_THROW(thence::sync_wait(segment.notified(1)), thence::mpi_error);
    EXPECT_THROW(segment.notify(0, 1), thence::error);
    EXPECT_THROW(all.flush(1), thence::error);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

} // namespace
