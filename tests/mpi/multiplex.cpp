// SPDX-License-Identifier: BSD-3-Clause
// Multiplex communicators on the real MPI, under MPICH's names: which streams a communicator has, and messages from a
// stream to a stream. Stock MPICH 5.0 aborts when such a communicator is made.
#include "multiplex.hpp"

#include <array>
#include <cstdint>
#include <memory>
#include <numeric>
#include <thread>

namespace {

constexpr int any_stream = -1;

// As many streams in each process.
class multiplex : public multiplex_test {};

TEST_F(multiplex, each_process_has_its_own_streams) {
    create(rank + 1);
    int result = -1;
    MPI_Comm_compare(comm, MPI_COMM_WORLD, &result);
    EXPECT_EQ(result, MPI_CONGRUENT);
    for (int i = 0; i <= rank; ++i) {
        EXPECT_EQ(stream_of(comm, i), streams[static_cast<std::size_t>(i)]);
    }
    EXPECT_EQ(stream_of(comm, rank + 1), MPIX_STREAM_NULL);
    EXPECT_EQ(stream_of(comm, 1 << 30), MPIX_STREAM_NULL);
    EXPECT_EQ(stream_of(comm, -1), MPIX_STREAM_NULL);
    MPIX_Stream refused = streams[0];
    EXPECT_EQ(class_of(MPIX_Stream_free(&refused)), MPI_ERR_OTHER) << "its communicator exists";
}

TEST_F(multiplex, count_0_is_one_null_stream) {
    create(rank == 0 ? 0 : 2);
    EXPECT_EQ(stream_of(comm), rank == 0 ? MPIX_STREAM_NULL : streams[0]);
    if (rank == 0) {
        EXPECT_EQ(stream_of(comm, 1), MPIX_STREAM_NULL);
    }
    // The null stream sends and receives as any other.
    const int to = (rank + 1) % size;
    const int from = (rank + size - 1) % size;
    const int last = from == 0 ? 0 : 1;
    int got = -1;
    MPI_Request request = irecv(got, from, 3, last, 0);
    EXPECT_EQ(send(rank, to, 3, rank == 0 ? 0 : 1, 0), MPI_SUCCESS);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    EXPECT_EQ(got, from);
}

// All (rank, index) to all, the receives by name in the reverse of the order of the sends.
TEST_F(multiplex, all_pairs_of_streams) {
    create(rank % 3 + 1);
    std::vector<MPI_Request> requests;
    std::vector<int> sent;
    sent.reserve(1000);
    for (int to = 0; to < size; ++to) {
        for (int mine = 0; mine < streams_of(rank); ++mine) {
            for (int peer = 0; peer < streams_of(to); ++peer) {
                sent.push_back(value(rank, mine, to, peer));
                requests.push_back(isend(sent.back(), to, 7, mine, peer));
            }
        }
    }
    for (int mine = streams_of(rank) - 1; mine >= 0; --mine) {
        for (int from = size - 1; from >= 0; --from) {
            for (int peer = streams_of(from) - 1; peer >= 0; --peer) {
                int got = -1;
                MPI_Status status;
                ASSERT_EQ(recv(got, from, 7, peer, mine, &status), MPI_SUCCESS);
                EXPECT_EQ(got, value(from, peer, rank, mine));
                EXPECT_EQ(status.MPI_SOURCE, from);
                EXPECT_EQ(status.MPI_TAG, 7);
            }
        }
    }
    MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
}

// All streams of all processes send to stream 1 of rank 0, which names none.
TEST_F(multiplex, wildcards_match_any_rank_stream_and_tag) {
    create(2);
    int mine[2] = {value(rank, 0, 0, 1), value(rank, 1, 0, 1)};
    MPI_Request requests[2] = {isend(mine[0], 0, 100 + rank, 0, 1), isend(mine[1], 0, 200 + rank, 1, 1)};
    if (rank == 0) {
        std::vector<int> seen(static_cast<std::size_t>(2 * size), 0);
        for (int i = 0; i < 2 * size; ++i) {
            int got = -1;
            MPI_Status status;
            ASSERT_EQ(recv(got, MPI_ANY_SOURCE, MPI_ANY_TAG, any_stream, 1, &status), MPI_SUCCESS);
            const int index = status.MPI_TAG / 100 - 1;
            EXPECT_EQ(status.MPI_TAG % 100, status.MPI_SOURCE);
            EXPECT_EQ(got, value(status.MPI_SOURCE, index, 0, 1));
            ++seen[static_cast<std::size_t>(2 * status.MPI_SOURCE + index)];
        }
        EXPECT_EQ(seen, std::vector<int>(static_cast<std::size_t>(2 * size), 1));
    }
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

// A receive that names a stream passes over an older message of another stream; one that does not takes the oldest.
TEST_F(multiplex, the_index_selects_among_messages_with_the_same_rank_and_tag) {
    create(3);
    const int to = (rank + 1) % size;
    const int from = (rank + size - 1) % size;
    for (int i = 0; i < 3; ++i) {
        ASSERT_EQ(send(i, to, 5, i, 2), MPI_SUCCESS);
    }
    int got = -1;
    ASSERT_EQ(recv(got, from, 5, 1, 2), MPI_SUCCESS);
    EXPECT_EQ(got, 1);
    ASSERT_EQ(recv(got, from, 5, any_stream, 2), MPI_SUCCESS);
    EXPECT_EQ(got, 0);
    ASSERT_EQ(recv(got, from, 5, any_stream, 2), MPI_SUCCESS);
    EXPECT_EQ(got, 2);
}

TEST_F(multiplex, messages_of_a_pair_stay_in_order) {
    create(2);
    constexpr int messages = 300;
    const int to = (rank + 1) % size;
    const int from = (rank + size - 1) % size;
    // Sizes around those at which the way of a message changes.
    const std::array<int, 5> sizes = {0, 8, 9, 1030, 5000};
    std::vector<std::vector<int>> out;
    std::vector<MPI_Request> requests;
    for (int i = 0; i < messages; ++i) {
        out.emplace_back(static_cast<std::size_t>(sizes[static_cast<std::size_t>(i) % sizes.size()]) + 1, i);
        MPI_Request &request = requests.emplace_back();
        ASSERT_EQ(MPIX_Stream_isend(out.back().data(), static_cast<int>(out.back().size()), MPI_INT, to, i % 2, comm, 1,
                                    0, &request),
                  MPI_SUCCESS);
    }
    std::vector<int> in(6000);
    for (int i = 0; i < messages; ++i) {
        MPI_Status status;
        ASSERT_EQ(MPIX_Stream_recv(in.data(), 6000, MPI_INT, from, MPI_ANY_TAG, comm, 1, 0, &status), MPI_SUCCESS);
        int count = -1;
        MPI_Get_count(&status, MPI_INT, &count);
        ASSERT_EQ(count, sizes[static_cast<std::size_t>(i) % sizes.size()] + 1);
        EXPECT_EQ(status.MPI_TAG, i % 2);
        EXPECT_EQ(in[0], i);
        EXPECT_EQ(in[static_cast<std::size_t>(count) - 1], i);
    }
    MPI_Waitall(messages, requests.data(), MPI_STATUSES_IGNORE);
}

// A rank and an index are the same pair for sender and receiver, in both directions at once.
TEST_F(multiplex, a_process_sends_to_itself_both_ways) {
    create(2);
    int a = -1;
    int b = -1;
    int self = -1;
    MPI_Request requests[3] = {irecv(a, rank, 1, 0, 1), irecv(b, rank, 1, 1, 0), irecv(self, rank, 1, 0, 0)};
    ASSERT_EQ(send(10, rank, 1, 0, 1), MPI_SUCCESS);
    ASSERT_EQ(send(20, rank, 1, 1, 0), MPI_SUCCESS);
    ASSERT_EQ(send(30, rank, 1, 0, 0), MPI_SUCCESS);
    MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
    EXPECT_EQ(a, 10);
    EXPECT_EQ(b, 20);
    EXPECT_EQ(self, 30);
}

TEST_F(multiplex, both_ranks_use_the_same_pair_both_ways) {
    create(2);
    const int peer = rank ^ 1;
    if (peer < size) {
        for (int i = 0; i < 20; ++i) { // each waits for the other process to be scheduled
            int got = -1;
            MPI_Request request = irecv(got, peer, i, 1, 1);
            ASSERT_EQ(send(100 * rank + i, peer, i, 1, 1), MPI_SUCCESS);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            ASSERT_EQ(got, 100 * peer + i);
        }
    }
}

TEST_F(multiplex, tags_are_whole) {
    create(1);
    const int to = (rank + 1) % size;
    const int from = (rank + size - 1) % size;
    for (const int tag : {0, 1, 131071, 131072, 1 << 29, INT32_MAX}) {
        ASSERT_EQ(send(tag, to, tag, 0, 0), MPI_SUCCESS);
    }
    for (const int tag : {INT32_MAX, 1 << 29, 131072, 131071, 1, 0}) {
        int got = -1;
        MPI_Status status;
        ASSERT_EQ(recv(got, from, tag, 0, 0, &status), MPI_SUCCESS);
        EXPECT_EQ(got, tag);
        EXPECT_EQ(status.MPI_TAG, tag);
    }
}

TEST_F(multiplex, a_message_that_is_too_long_is_truncated) {
    create(2);
    const int to = (rank + 1) % size;
    const int from = (rank + size - 1) % size;
    for (const int count : {4, 100, 100000}) { // in each way that a message goes
        std::vector<int> out(static_cast<std::size_t>(count));
        std::iota(out.begin(), out.end(), 0);
        for (const bool with_request : {false, true}) {
            MPI_Request sent = MPI_REQUEST_NULL;
            ASSERT_EQ(MPIX_Stream_isend(out.data(), count, MPI_INT, to, 1, comm, 0, 1, &sent), MPI_SUCCESS);
            std::vector<int> in(static_cast<std::size_t>(count), -1);
            MPI_Status status;
            int code = MPI_SUCCESS;
            if (with_request) {
                MPI_Request received = MPI_REQUEST_NULL;
                MPIX_Stream_irecv(in.data(), count - 1, MPI_INT, from, 1, comm, 0, 1, &received);
                code = MPI_Wait(&received, &status);
            } else {
                code = MPIX_Stream_recv(in.data(), count - 1, MPI_INT, from, 1, comm, 0, 1, &status);
            }
            EXPECT_EQ(class_of(code), MPI_ERR_TRUNCATE) << count << with_request;
            EXPECT_EQ(in[static_cast<std::size_t>(count) - 2], count - 2);
            EXPECT_EQ(in[static_cast<std::size_t>(count) - 1], -1);
            MPI_Wait(&sent, MPI_STATUS_IGNORE);
        }
    }
}

TEST_F(multiplex, large_messages_with_gaps) {
    create(2);
    constexpr int count = 1 << 20;
    const int to = (rank + 1) % size;
    const int from = (rank + size - 1) % size;
    MPI_Datatype every_second = MPI_DATATYPE_NULL;
    MPI_Type_vector(count, 1, 2, MPI_INT, &every_second);
    MPI_Type_commit(&every_second);
    std::vector<int> out(2 * count);
    std::iota(out.begin(), out.end(), rank);
    std::vector<int> in(2 * count, -1);
    MPI_Request requests[2];
    ASSERT_EQ(MPIX_Stream_irecv(in.data(), 1, every_second, from, 0, comm, 1, 0, &requests[0]), MPI_SUCCESS);
    ASSERT_EQ(MPIX_Stream_isend(out.data(), count, MPI_INT, to, 0, comm, 1, 0, &requests[1]), MPI_SUCCESS);
    MPI_Type_free(&every_second);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    for (const int i : {0, 1, count / 2, count - 1}) {
        EXPECT_EQ(in[static_cast<std::size_t>(2 * i)], from + i);
        EXPECT_EQ(in[static_cast<std::size_t>(2 * i) + 1], -1);
    }
}

TEST_F(multiplex, large_counts) {
    create(1);
    const int to = (rank + 1) % size;
    const int from = (rank + size - 1) % size;
    const MPI_Count n = 3;
    const std::array<int, 3> out = {rank, 1, 2};
    std::array<int, 3> in{};
    MPI_Request requests[2];
    ASSERT_EQ(MPIX_Stream_irecv_c(in.data(), n, MPI_INT, from, 0, comm, 0, 0, &requests[0]), MPI_SUCCESS);
    ASSERT_EQ(MPIX_Stream_isend_c(out.data(), n, MPI_INT, to, 0, comm, 0, 0, &requests[1]), MPI_SUCCESS);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    EXPECT_EQ(in[0], from);
    ASSERT_EQ(MPIX_Stream_send_c(out.data(), n, MPI_INT, to, 0, comm, 0, 0), MPI_SUCCESS);
    ASSERT_EQ(MPIX_Stream_recv_c(in.data(), n, MPI_INT, from, 0, comm, 0, 0, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(in[2], 2);
    // 2^31 bytes of a process to itself would be copied once; to another process they are refused.
    if (size > 1) {
        EXPECT_EQ(class_of(MPIX_Stream_send_c(out.data(), MPI_Count{1} << 31, MPI_BYTE, to, 0, comm, 0, 0)),
                  MPI_ERR_COUNT);
    }
}

TEST_F(multiplex, messages_of_streams_never_meet_those_of_mpi) {
    create(1);
    const int to = (rank + 1) % size;
    const int from = (rank + size - 1) % size;
    int of_mpi = -1;
    int of_stream = -1;
    const int one = 1;
    MPI_Request requests[3];
    MPI_Irecv(&of_mpi, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &requests[0]);
    requests[1] = irecv(of_stream, MPI_ANY_SOURCE, MPI_ANY_TAG, any_stream, 0);
    ASSERT_EQ(send(2, to, 0, 0, 0), MPI_SUCCESS);
    MPI_Isend(&one, 1, MPI_INT, to, 0, comm, &requests[2]);
    MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
    EXPECT_EQ(of_mpi, 1);
    EXPECT_EQ(of_stream, 2);
    int sum = 0;
    MPI_Allreduce(&from, &sum, 1, MPI_INT, MPI_SUM, comm);
    EXPECT_EQ(sum, size * (size - 1) / 2);
}

TEST_F(multiplex, copies_have_the_streams_and_messages_of_their_own) {
    create(2);
    MPI_Comm copy = MPI_COMM_NULL;
    MPI_Comm_dup(comm, &copy);
    MPI_Comm later = MPI_COMM_NULL;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Comm_idup(copy, &later, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Comm part = MPI_COMM_NULL;
    MPI_Comm_split(comm, 0, rank, &part);
    EXPECT_EQ(stream_of(copy, 1), streams[1]);
    EXPECT_EQ(stream_of(later, 1), streams[1]);
    EXPECT_EQ(stream_of(part, 0), MPIX_STREAM_NULL) << "MPI copies attributes to copies only";
    MPI_Comm_free(&part);
    MPI_Comm plain = MPI_COMM_NULL;
    ASSERT_EQ(MPIX_Stream_comm_create(comm, streams[1], &plain), MPI_SUCCESS);
    EXPECT_EQ(stream_of(plain, 0), streams[1]);
    EXPECT_EQ(stream_of(plain, 1), MPIX_STREAM_NULL) << "it has one stream";
    MPI_Comm_free(&plain);

    const int to = (rank + 1) % size;
    const int from = (rank + size - 1) % size;
    int i = 0;
    const MPI_Comm all[3] = {comm, copy, later};
    for (MPI_Comm each : all) {
        ++i;
        ASSERT_EQ(MPIX_Stream_send(&i, 1, MPI_INT, to, 0, each, 0, 1), MPI_SUCCESS);
    }
    for (; i > 0; --i) { // the last first
        int got = -1;
        ASSERT_EQ(MPIX_Stream_recv(&got, 1, MPI_INT, from, 0, all[i - 1], any_stream, 1, MPI_STATUS_IGNORE),
                  MPI_SUCCESS);
        EXPECT_EQ(got, i);
    }
    MPI_Comm_free(&comm);
    EXPECT_EQ(class_of(MPIX_Stream_free(&streams[0])), MPI_ERR_OTHER) << "copies exist";
    MPI_Comm_free(&copy);
    comm = later; // the fixture frees it
    int got = -1;
    MPI_Request last = irecv(got, from, 0, 1, 1);
    ASSERT_EQ(send(9, to, 0, 1, 1), MPI_SUCCESS);
    MPI_Wait(&last, MPI_STATUS_IGNORE);
    EXPECT_EQ(got, 9);
}

TEST_F(multiplex, pending_operations_complete_after_the_communicator_was_freed) {
    create(1);
    const int to = (rank + 1) % size;
    const int from = (rank + size - 1) % size;
    std::vector<int> out(100000, rank);
    std::vector<int> in(100000, -1);
    MPI_Request requests[2];
    ASSERT_EQ(MPIX_Stream_irecv(in.data(), 100000, MPI_INT, from, 0, comm, 0, 0, &requests[0]), MPI_SUCCESS);
    ASSERT_EQ(MPIX_Stream_isend(out.data(), 100000, MPI_INT, to, 0, comm, 0, 0, &requests[1]), MPI_SUCCESS);
    MPI_Comm_free(&comm);
    MPIX_Stream freed = streams[0];
    EXPECT_EQ(MPIX_Stream_free(&freed), MPI_SUCCESS);
    streams.clear();
    create(1); // it looks for what can be destroyed
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    EXPECT_EQ(in[99999], from);
}

TEST_F(multiplex, can_be_made_and_freed_many_times) {
    for (int i = 0; i < 8; ++i) { // each waits about ten times for the other processes to be scheduled
        MPI_Comm each = MPI_COMM_NULL;
        ASSERT_EQ(MPIX_Stream_comm_create_multiplex(MPI_COMM_WORLD, 0, nullptr, &each), MPI_SUCCESS);
        int got = -1;
        MPI_Request request = MPI_REQUEST_NULL;
        MPIX_Stream_irecv(&got, 1, MPI_INT, (rank + size - 1) % size, 0, each, 0, 0, &request);
        MPIX_Stream_send(&i, 1, MPI_INT, (rank + 1) % size, 0, each, 0, 0);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        EXPECT_EQ(got, i);
        MPI_Comm_free(&each);
    }
}

TEST_F(multiplex, a_receive_can_be_cancelled) {
    create(1);
    int got = -1;
    MPI_Request request = irecv(got, MPI_ANY_SOURCE, 77, any_stream, 0);
    MPI_Cancel(&request);
    MPI_Status status;
    MPI_Wait(&request, &status);
    int cancelled = 0;
    MPI_Test_cancelled(&status, &cancelled);
    EXPECT_NE(cancelled, 0);
    EXPECT_EQ(got, -1);
}

TEST_F(multiplex, mpi_proc_null) {
    create(1);
    int got = -1;
    MPI_Status status;
    ASSERT_EQ(send(1, MPI_PROC_NULL, 0, 0, 12345), MPI_SUCCESS);
    ASSERT_EQ(recv(got, MPI_PROC_NULL, 0, 12345, 0, &status), MPI_SUCCESS);
    EXPECT_EQ(status.MPI_SOURCE, MPI_PROC_NULL);
    EXPECT_EQ(status.MPI_TAG, MPI_ANY_TAG);
    MPI_Request requests[2] = {irecv(got, MPI_PROC_NULL, 0, 0, 0), isend(got, MPI_PROC_NULL, 0, 0, 0)};
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    EXPECT_EQ(got, -1);
}

TEST_F(multiplex, requests_have_continuations) {
    create(1);
    const int to = (rank + 1) % size;
    const int from = (rank + size - 1) % size;
    MPI_Request cr = MPI_REQUEST_NULL;
    ASSERT_EQ(thence_cr_create(0, -1, MPI_INFO_NULL, &cr), MPI_SUCCESS);
    int got = -1;
    outcome done;
    MPI_Request request = irecv(got, from, 4, 0, 0);
    done.attach(request, cr);
    ASSERT_EQ(send(rank, to, 4, 0, 0), MPI_SUCCESS);
    EXPECT_EQ(thence_wait(&cr, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(done.ended(), 1);
    EXPECT_EQ(got, from);
    EXPECT_EQ(done.count(), 1);
    thence_free(&cr);
}

// Each thread has a stream, sends to all and receives from any.
TEST_F(multiplex, threads_of_several_streams_at_once) {
    int level = 0;
    MPI_Query_thread(&level);
    if (level < MPI_THREAD_MULTIPLE) {
        GTEST_SKIP() << "needs MPI_THREAD_MULTIPLE";
    }
    constexpr int count = 3;
    constexpr int rounds = 50;
    create(count);
    std::vector<std::thread> threads;
    std::array<long, count> sums{};
    for (int mine = 0; mine < count; ++mine) {
        threads.emplace_back([&, mine] {
            const int peers = count * size;
            const int sent = 1 + rank * count + mine;
            std::vector<MPI_Request> requests;
            for (int i = 0; i < rounds * peers; ++i) {
                requests.push_back(isend(sent, i % size, i / peers, mine, i / size % count));
            }
            for (int i = 0; i < rounds * peers; ++i) {
                int got = 0;
                if (recv(got, MPI_ANY_SOURCE, MPI_ANY_TAG, any_stream, mine) != MPI_SUCCESS) {
                    return;
                }
                sums[static_cast<std::size_t>(mine)] += got;
            }
            MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
        });
    }
    for (std::thread &each : threads) {
        each.join();
    }
    const long all = static_cast<long>(count) * size;
    for (const long sum : sums) {
        EXPECT_EQ(sum, rounds * all * (all + 1) / 2);
    }
}

} // namespace
