// SPDX-License-Identifier: BSD-3-Clause
// MPIX_Stream_progress and MPIX_Start_progress_thread with live streams: plain ones, and ones with a queue.
#include "thread_queue.hpp"

#include <thence/mpix.h>

#include <chrono>
#include <vector>

namespace {

class stream_progress : public ::testing::Test {
protected:
    stream_progress() {
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        MPI_Comm_size(MPI_COMM_WORLD, &size);
    }
    int next() const { return (rank + 1) % size; }
    int previous() const { return (rank + size - 1) % size; }
    int rank = 0;
    int size = 1;
};

TEST_F(stream_progress, completes_messages_of_a_stream) {
    constexpr int n = 200'000; // more than MPI sends before the receive
    MPIX_Stream streams[2] = {MPIX_STREAM_NULL, MPIX_STREAM_NULL};
    MPI_Comm comms[2] = {MPI_COMM_NULL, MPI_COMM_NULL};
    for (int i = 0; i < 2; ++i) {
        ASSERT_EQ(MPIX_Stream_create(MPI_INFO_NULL, &streams[i]), MPI_SUCCESS);
        ASSERT_EQ(MPIX_Stream_comm_create(MPI_COMM_WORLD, streams[i], &comms[i]), MPI_SUCCESS);
    }
    for (int round = 0; round < 20; ++round) {
        const int which = round % 2;
        const std::vector<int> out(n, round * size + rank);
        std::vector<int> in(n, -1);
        MPI_Request requests[2];
        MPI_Irecv(in.data(), n, MPI_INT, previous(), 1, comms[which], &requests[0]);
        MPI_Isend(out.data(), n, MPI_INT, next(), 1, comms[which], &requests[1]);
        while (MPIX_Request_is_complete(requests[0]) == 0 || MPIX_Request_is_complete(requests[1]) == 0) {
            ASSERT_EQ(MPIX_Stream_progress(streams[which]), MPI_SUCCESS);
        }
        EXPECT_EQ(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE), MPI_SUCCESS);
        EXPECT_EQ(in, std::vector<int>(n, round * size + previous()));
    }
    for (int i = 0; i < 2; ++i) {
        EXPECT_EQ(MPI_Comm_free(&comms[i]), MPI_SUCCESS);
        EXPECT_EQ(MPIX_Stream_free(&streams[i]), MPI_SUCCESS);
    }
}

TEST_F(stream_progress, starts_and_completes_what_is_enqueued) {
    for (const trigger how : {trigger::by_store, trigger::by_launch}) {
        queued_communicator q(how);
        int got = -1;
        MPI_Request request = MPI_REQUEST_NULL;
        ASSERT_EQ(MPIX_Irecv_enqueue(&got, 1, MPI_INT, previous(), 2, q.comm, &request), MPI_SUCCESS);
        ASSERT_EQ(MPIX_Send_enqueue(&rank, 1, MPI_INT, next(), 2, q.comm), MPI_SUCCESS);
        ASSERT_EQ(MPIX_Wait_enqueue(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
        std::atomic<bool> there{false};
        q.queue.push([&] { there = true; });
        while (!there) {
            ASSERT_EQ(MPIX_Stream_progress(q.stream), MPI_SUCCESS);
        }
        EXPECT_EQ(got, previous());
    }
}

// No thread of the program calls MPI while the threads work.
TEST_F(stream_progress, a_progress_thread_of_a_stream_does_all_of_it) {
    int level = MPI_THREAD_SINGLE;
    MPI_Query_thread(&level);
    if (level != MPI_THREAD_MULTIPLE) {
        GTEST_SKIP() << "needs MPI_THREAD_MULTIPLE";
    }
    queued_communicator q(trigger::by_store);
    MPIX_Stream plain = MPIX_STREAM_NULL;
    ASSERT_EQ(MPIX_Stream_create(MPI_INFO_NULL, &plain), MPI_SUCCESS);
    MPI_Comm on_plain = MPI_COMM_NULL;
    ASSERT_EQ(MPIX_Stream_comm_create(MPI_COMM_WORLD, plain, &on_plain), MPI_SUCCESS);
    for (int starts = 1; starts <= 2; ++starts) { // a second start of a stream counts
        ASSERT_EQ(MPIX_Start_progress_thread(q.stream), MPI_SUCCESS);
    }
    ASSERT_EQ(MPIX_Start_progress_thread(plain), MPI_SUCCESS);
    int got[2] = {-1, -1};
    MPI_Request requests[2];
    MPI_Irecv(&got[0], 1, MPI_INT, previous(), 4, on_plain, &requests[0]);
    MPI_Isend(&rank, 1, MPI_INT, next(), 4, on_plain, &requests[1]);
    MPI_Request enqueued = MPI_REQUEST_NULL;
    ASSERT_EQ(MPIX_Irecv_enqueue(&got[1], 1, MPI_INT, previous(), 5, q.comm, &enqueued), MPI_SUCCESS);
    ASSERT_EQ(MPIX_Send_enqueue(&rank, 1, MPI_INT, next(), 5, q.comm), MPI_SUCCESS);
    ASSERT_EQ(MPIX_Wait_enqueue(&enqueued, MPI_STATUS_IGNORE), MPI_SUCCESS);
    std::atomic<bool> there{false};
    q.queue.push([&] { there = true; });
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!there && std::chrono::steady_clock::now() < end) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    EXPECT_TRUE(there) << "the thread has not done what is enqueued";
    EXPECT_EQ(got[1], previous());
    EXPECT_EQ(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(got[0], previous());
    EXPECT_EQ(MPIX_Stop_progress_thread(plain), MPI_SUCCESS);
    EXPECT_EQ(MPIX_Stop_progress_thread(q.stream), MPI_SUCCESS);
    EXPECT_EQ(MPIX_Stop_progress_thread(q.stream), MPI_SUCCESS);
    EXPECT_EQ(MPI_Comm_free(&on_plain), MPI_SUCCESS);
    EXPECT_EQ(MPIX_Stream_free(&plain), MPI_SUCCESS);
}

} // namespace
