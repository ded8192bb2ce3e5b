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

ex::task<void> exchange_lists(const thence::space &all, const thence::segment &segment) {
    const int next = (all.rank() + 1) % all.size();
    const int previous = (all.rank() + all.size() - 1) % all.size();
    std::vector<int> out(50000);
    std::iota(out.begin(), out.end(), 1000 * all.rank());
    std::vector<int> in(out.size(), -1);
    const auto pieces = [&](std::vector<int> &memory) { // a message of its own, and a packet
        return std::vector<thence_piece>{{memory.data(), 160000, segment.get(), 0},
                                         {memory.data() + 40000, 40000, segment.get(), 160000}};
    };
    const std::vector<thence_piece> from = pieces(out);
    const std::vector<thence_piece> to = pieces(in);
    co_await segment.put_list_notify(from, next, 3, 5);
    std::fill(out.begin(), out.end(), -1); // all may be written again
    EXPECT_EQ(co_await segment.notified(3), 5U);
    int last = 0;
    std::memcpy(&last, segment.memory().data() + 199996, sizeof last);
    EXPECT_EQ(last, 1000 * previous + 49999);
    segment.notify(previous, 4); // it may put there again
    co_await all.get_list(to, next);
    EXPECT_EQ(in.front(), 1000 * all.rank());
    EXPECT_EQ(in.back(), 1000 * all.rank() + 49999) << "what this process has put there";
    co_await segment.notified(4);
    co_await all.put_list(from, next);
    segment.notify(next, 3);
    co_await segment.notified(3);
    std::memcpy(&last, segment.memory().data() + 199996, sizeof last);
    EXPECT_EQ(last, -1);
}

TEST(onesided_senders, lists_are_complete_when_all_their_pieces_are) {
    const thence::space all(MPI_COMM_WORLD);
    const thence::segment segment(all, 200000, 5);
    thence::sync_wait(exchange_lists(all, segment));
}

TEST(onesided_senders, a_continuation_waits_for_a_list) {
    const thence::space all(MPI_COMM_WORLD);
    const thence::segment segment(all, 200000, 1);
    MPI_Request cr = MPI_REQUEST_NULL;
    ASSERT_EQ(thence_cr_create(0, -1, MPI_INFO_NULL, &cr), MPI_SUCCESS);
    const int next = (all.rank() + 1) % all.size();
    std::vector<char> out(200000, 'x');
    std::vector<char> in(200000, 'y');
    const std::vector<thence_piece> from{{out.data(), 100000, segment.get(), 0},
                                         {out.data() + 100000, 100000, segment.get(), 100000}};
    const std::vector<thence_piece> to{{in.data(), 200000, segment.get(), 0}};
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    ASSERT_EQ(thence_put_list(2, from.data(), next, 0, &requests[0]), MPI_SUCCESS);
    ASSERT_EQ(thence_get_list(1, to.data(), next, 0, &requests[1]), MPI_SUCCESS);
    outcome both;
    both.attach(2, requests, cr);
    while (both.ended() == 0) {
        EXPECT_EQ(thence_progress(), MPI_SUCCESS);
    }
    EXPECT_EQ(both.ended(), 1);
    EXPECT_EQ(both.error, MPI_SUCCESS);
    EXPECT_EQ(in, out);
    EXPECT_EQ(thence_free(&cr), MPI_SUCCESS);
}

TEST(onesided_senders, errors_are_exceptions) {
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, errors_return());
    EXPECT_THROW(thence::space(MPI_COMM_WORLD, 0), thence::error);
    const thence::space all(MPI_COMM_WORLD);
    const thence::segment segment(all, 10, 1);
    const std::vector<char> eleven(11);
    EXPECT_THROW(thence::sync_wait(segment.put(std::span(eleven), 0, 0)), thence::mpi_error);
    EXPECT_THROW(thence::sync_wait(segment.notified(1)), thence::mpi_error);
    const thence_piece wrong{nullptr, 11, segment.get(), 0};
    EXPECT_THROW(thence::sync_wait(all.put_list({&wrong, 1}, 0)), thence::mpi_error);
    EXPECT_THROW(thence::sync_wait(all.get_list({&wrong, 1}, 0)), thence::mpi_error);
    EXPECT_THROW(thence::sync_wait(segment.put_list_notify({}, 0, 1)), thence::mpi_error);
    EXPECT_THROW(segment.notify(0, 1), thence::error);
    EXPECT_THROW(all.flush(1), thence::error);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

} // namespace
