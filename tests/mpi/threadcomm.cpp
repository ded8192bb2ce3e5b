// SPDX-License-Identifier: BSD-3-Clause
// Thread communicators on the real MPI: who is a rank when, and messages between threads of one process and of several.
#include "threadcomm.hpp"

#include <array>
#include <atomic>
#include <climits>
#include <cstring>
#include <numeric>
#include <set>

namespace {

int processes() {
    int n = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    return n;
}
int process() {
    int p = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &p);
    return p;
}
int class_of(int code) {
    int error_class = MPI_SUCCESS;
    MPI_Error_class(code, &error_class);
    return error_class;
}
// A datatype of every second int.
class every_second {
public:
    explicit every_second(int count) {
        MPI_Type_vector(count, 1, 2, MPI_INT, &type);
        MPI_Type_commit(&type);
    }
    ~every_second() { MPI_Type_free(&type); }
    every_second(const every_second &) = delete;
    every_second &operator=(const every_second &) = delete;
    MPI_Datatype type = MPI_DATATYPE_NULL;
};

} // namespace

TEST(threadcomm, ranks_are_numbered_process_by_process) {
    const int mine = process() + 1;
    threads_of t(mine);
    const int all = processes() * (processes() + 1) / 2;
    const int first = process() * (process() + 1) / 2;
    std::array<std::atomic<int>, 64> seen{};
    t.run([&](int rank, int size) {
        EXPECT_EQ(size, all);
        EXPECT_GE(rank, first);
        EXPECT_LT(rank, first + mine);
        ++seen[static_cast<std::size_t>(rank - first)];
    });
    for (int i = 0; i < mine; ++i) {
        EXPECT_EQ(seen[static_cast<std::size_t>(i)], 1);
    }
}

TEST(threadcomm, a_process_may_have_no_thread) {
    threads_of t(process() == 0 ? 2 : 0);
    t.run([&](int rank, int size) {
        EXPECT_EQ(size, 2);
        int got = -1;
        EXPECT_EQ(
            MPI_Sendrecv(&rank, 1, MPI_INT, 1 - rank, 0, &got, 1, MPI_INT, 1 - rank, 0, t.comm, MPI_STATUS_IGNORE),
            MPI_SUCCESS);
        EXPECT_EQ(got, 1 - rank);
    });
}

TEST(threadcomm, a_thread_keeps_its_rank_over_restarts) {
    constexpr int count = 4;
    threads_of t(count);
    std::vector<std::thread> threads;
    for (int i = 0; i < count; ++i) {
        threads.emplace_back([&] {
            int first = -1;
            for (int round = 0; round < 20; ++round) {
                ASSERT_EQ(MPIX_Threadcomm_start(t.comm), MPI_SUCCESS);
                int rank = -1;
                MPI_Comm_rank(t.comm, &rank);
                first = round == 0 ? rank : first;
                EXPECT_EQ(rank, first);
                ASSERT_EQ(MPIX_Threadcomm_finish(t.comm), MPI_SUCCESS);
            }
        });
    }
    for (std::thread &each : threads) {
        each.join();
    }
}

TEST(threadcomm, is_told_from_other_communicators) {
    threads_of t(1);
    int flag = -1;
    EXPECT_EQ(MPIX_Comm_test_threadcomm(t.comm, &flag), MPI_SUCCESS);
    EXPECT_EQ(flag, 1);
    EXPECT_EQ(MPIX_Comm_test_threadcomm(MPI_COMM_WORLD, &flag), MPI_SUCCESS);
    EXPECT_EQ(flag, 0);
    int rank = -1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    EXPECT_EQ(rank, process());
}

TEST(threadcomm, calls_outside_of_start_and_finish_are_errors) {
    threads_of t(1);
    int rank = -7;
    EXPECT_EQ(class_of(MPI_Comm_rank(t.comm, &rank)), MPI_ERR_COMM);
    EXPECT_EQ(rank, -7);
    EXPECT_EQ(class_of(MPI_Send(&rank, 1, MPI_INT, 0, 0, t.comm)), MPI_ERR_COMM);
    EXPECT_EQ(class_of(MPIX_Threadcomm_finish(t.comm)), MPI_ERR_COMM);
    MPI_Request request = MPI_REQUEST_NULL;
    EXPECT_EQ(class_of(MPI_Irecv(&rank, 1, MPI_INT, 0, 0, t.comm, &request)), MPI_ERR_COMM);
    EXPECT_EQ(request, MPI_REQUEST_NULL);
}

TEST(threadcomm, what_does_not_fit_a_region_is_refused) {
    threads_of t(2);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, thence_errors_return());
    EXPECT_EQ(class_of(MPIX_Threadcomm_start(MPI_COMM_WORLD)), MPI_ERR_COMM);
    EXPECT_EQ(class_of(thence_threadcomm_start_as(t.comm, 2)), MPI_ERR_RANK);
    MPI_Comm nested = MPI_COMM_NULL;
    EXPECT_EQ(class_of(MPIX_Threadcomm_init(t.comm, 1, &nested)), MPI_ERR_COMM);
    EXPECT_EQ(class_of(MPIX_Threadcomm_init(MPI_COMM_WORLD, -1, &nested)), MPI_ERR_ARG);
    EXPECT_EQ(nested, MPI_COMM_NULL);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    t.run([&](int rank, int size) {
        EXPECT_EQ(class_of(MPIX_Threadcomm_start(t.comm)), MPI_ERR_COMM); // again
        EXPECT_EQ(class_of(MPI_Send(&rank, 1, MPI_INT, size, 0, t.comm)), MPI_ERR_RANK);
        EXPECT_EQ(class_of(MPI_Send(&rank, 1, MPI_INT, 0, -5, t.comm)), MPI_ERR_TAG);
        EXPECT_EQ(class_of(MPI_Send(&rank, -1, MPI_INT, 0, 0, t.comm)), MPI_ERR_COUNT);
        std::thread third([&] { EXPECT_EQ(class_of(MPIX_Threadcomm_start(t.comm)), MPI_ERR_COMM); });
        third.join();
        MPI_Comm copy = t.comm;
        EXPECT_EQ(class_of(MPIX_Threadcomm_free(&copy)), MPI_ERR_COMM);
        EXPECT_EQ(class_of(MPI_Comm_free(&copy)), MPI_ERR_COMM);
    });
}

TEST(threadcomm, two_threads_that_ask_for_one_rank_do_not_start) {
    threads_of t(2);
    const auto both = [&](int first, int second, int expected) {
        std::thread other([&] { EXPECT_EQ(class_of(thence_threadcomm_start_as(t.comm, second)), expected); });
        EXPECT_EQ(class_of(thence_threadcomm_start_as(t.comm, first)), expected);
        other.join();
    };
    both(1, 1, MPI_ERR_RANK);
    t.run([](int, int size) { EXPECT_EQ(size, 2 * processes()); });
}

// From every rank to every rank, and sizes on both sides of each limit.
TEST(threadcomm, messages_between_all_pairs) {
    threads_of t(3);
    t.run([&](int rank, int size) {
        for (const int n : {0, 1, 8, 9, 1000, 1100, 70000}) {
            std::vector<std::vector<int>> out(static_cast<std::size_t>(size));
            std::vector<MPI_Request> requests(static_cast<std::size_t>(size));
            for (int to = 0; to < size; ++to) {
                auto &data = out[static_cast<std::size_t>(to)];
                data.resize(static_cast<std::size_t>(n) + 1);
                std::iota(data.begin(), data.end(), 1000 * rank + to);
                ASSERT_EQ(MPI_Isend(data.data(), n, MPI_INT, to, n, t.comm, &requests[static_cast<std::size_t>(to)]),
                          MPI_SUCCESS);
            }
            for (int from = 0; from < size; ++from) {
                std::vector<int> in(static_cast<std::size_t>(n) + 1, -1);
                MPI_Status status;
                ASSERT_EQ(MPI_Recv(in.data(), n, MPI_INT, from, n, t.comm, &status), MPI_SUCCESS);
                int count = -1;
                MPI_Get_count(&status, MPI_INT, &count);
                EXPECT_EQ(count, n);
                EXPECT_EQ(status.MPI_SOURCE, from);
                EXPECT_EQ(status.MPI_TAG, n);
                for (int i = 0; i < n; ++i) {
                    ASSERT_EQ(in[static_cast<std::size_t>(i)], 1000 * from + rank + i);
                }
                EXPECT_EQ(in.back(), -1);
            }
            ASSERT_EQ(MPI_Waitall(size, requests.data(), MPI_STATUSES_IGNORE), MPI_SUCCESS);
        }
    });
}

TEST(threadcomm, wildcards_take_the_oldest_and_say_whose_it_is) {
    threads_of t(2);
    t.run([&](int rank, int size) {
        constexpr int each = 50;
        if (rank != 0) {
            for (int i = 0; i < each; ++i) {
                const int value = rank * 1000 + i;
                ASSERT_EQ(MPI_Send(&value, 1, MPI_INT, 0, i, t.comm), MPI_SUCCESS);
            }
            return;
        }
        std::vector<int> next(static_cast<std::size_t>(size), 0);
        for (int i = 0; i < each * (size - 1); ++i) {
            int value = -1;
            MPI_Status status;
            ASSERT_EQ(MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, t.comm, &status), MPI_SUCCESS);
            int &expected = next[static_cast<std::size_t>(status.MPI_SOURCE)];
            EXPECT_EQ(status.MPI_TAG, expected);
            EXPECT_EQ(value, status.MPI_SOURCE * 1000 + expected);
            ++expected;
        }
    });
}

TEST(threadcomm, tags_are_whole) {
    threads_of t(2);
    t.run([&](int rank, int size) {
        int *largest = nullptr;
        int flag = 0;
        MPI_Comm_get_attr(t.comm, MPI_TAG_UB, &largest, &flag);
        ASSERT_EQ(flag, 1);
        for (const int tag : {131071, 131072, 131072 + 5, *largest}) {
            MPI_Status status;
            int value = rank;
            ASSERT_EQ(MPI_Sendrecv_replace(&value, 1, MPI_INT, (rank + 1) % size, tag, (rank + size - 1) % size, tag,
                                           t.comm, &status),
                      MPI_SUCCESS);
            EXPECT_EQ(value, (rank + size - 1) % size);
            EXPECT_EQ(status.MPI_TAG, tag);
        }
    });
}

// Where the bound is the largest int, no tag is above it.
TEST(threadcomm, tags_above_the_bound_are_refused) {
    threads_of t(2);
    t.run([&](int rank, int size) {
        int *largest = nullptr;
        int flag = 0;
        MPI_Comm_get_attr(t.comm, MPI_TAG_UB, &largest, &flag);
        ASSERT_EQ(flag, 1);
        const int to = (rank + 1) % size;
        int value = rank;
        for (const int tag :
             {INT_MIN, *largest < INT_MAX ? *largest + 1 : INT_MIN, *largest < INT_MAX ? INT_MAX : -1}) {
            MPI_Request request = MPI_REQUEST_NULL;
            EXPECT_EQ(class_of(MPI_Send(&value, 1, MPI_INT, to, tag, t.comm)), MPI_ERR_TAG) << tag;
            EXPECT_EQ(class_of(MPI_Isend(&value, 1, MPI_INT, to, tag, t.comm, &request)), MPI_ERR_TAG) << tag;
            if (tag != MPI_ANY_TAG) {
                EXPECT_EQ(class_of(MPI_Irecv(&value, 1, MPI_INT, to, tag, t.comm, &request)), MPI_ERR_TAG) << tag;
            }
            EXPECT_EQ(request, MPI_REQUEST_NULL);
        }
        EXPECT_EQ(MPI_Barrier(t.comm), MPI_SUCCESS); // nothing was half done
    });
}

TEST(threadcomm, receives_complete_in_the_order_of_their_posting) {
    threads_of t(2);
    t.run([&](int rank, int size) {
        const int to = (rank + 1) % size;
        std::array<int, 4> in{-1, -1, -1, -1};
        std::array<MPI_Request, 4> requests{};
        MPI_Irecv(&in[0], 1, MPI_INT, MPI_ANY_SOURCE, 7, t.comm, &requests[0]);
        MPI_Irecv(&in[1], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, t.comm, &requests[1]);
        MPI_Irecv(&in[2], 1, MPI_INT, MPI_ANY_SOURCE, 7, t.comm, &requests[2]);
        MPI_Irecv(&in[3], 1, MPI_INT, MPI_ANY_SOURCE, 8, t.comm, &requests[3]);
        for (const int tag : {8, 7, 8, 7}) {
            MPI_Send(&tag, 1, MPI_INT, to, tag, t.comm);
        }
        std::array<MPI_Status, 4> statuses{};
        ASSERT_EQ(MPI_Waitall(4, requests.data(), statuses.data()), MPI_SUCCESS);
        EXPECT_EQ(in, (std::array<int, 4>{7, 8, 7, 8}));
        EXPECT_EQ(statuses[1].MPI_TAG, 8);
    });
}

TEST(threadcomm, a_synchronous_send_waits_for_its_receive) {
    threads_of t(2);
    t.run([&](int rank, int size) {
        const int peer = rank ^ 1;
        if (peer >= size) {
            return;
        }
        int value = rank;
        MPI_Request request = MPI_REQUEST_NULL;
        ASSERT_EQ(MPI_Issend(&value, 1, MPI_INT, peer, 1, t.comm, &request), MPI_SUCCESS);
        int flag = -1;
        for (int i = 0; i < 100; ++i) {
            ASSERT_EQ(MPI_Test(&request, &flag, MPI_STATUS_IGNORE), MPI_SUCCESS);
            ASSERT_EQ(flag, 0);
        }
        int ready = 0;
        ASSERT_EQ(MPI_Sendrecv(&value, 1, MPI_INT, peer, 2, &ready, 1, MPI_INT, peer, 2, t.comm, MPI_STATUS_IGNORE),
                  MPI_SUCCESS);
        int got = -1;
        ASSERT_EQ(MPI_Recv(&got, 1, MPI_INT, peer, 1, t.comm, MPI_STATUS_IGNORE), MPI_SUCCESS);
        EXPECT_EQ(got, peer);
        ASSERT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
        if (rank % 2 == 0) {
            ASSERT_EQ(MPI_Ssend(&value, 1, MPI_INT, peer, 3, t.comm), MPI_SUCCESS);
        } else {
            ASSERT_EQ(MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 3, t.comm, MPI_STATUS_IGNORE), MPI_SUCCESS);
        }
    });
}

TEST(threadcomm, probes_see_a_message_and_leave_it) {
    threads_of t(2);
    t.run([&](int rank, int size) {
        const int to = (rank + 1) % size;
        const int from = (rank + size - 1) % size;
        const std::array<int, 3> out{rank, 2, 3};
        MPI_Send(out.data(), 3, MPI_INT, to, 40, t.comm);
        MPI_Status status;
        ASSERT_EQ(MPI_Probe(from, MPI_ANY_TAG, t.comm, &status), MPI_SUCCESS);
        int count = -1;
        MPI_Get_count(&status, MPI_INT, &count);
        EXPECT_EQ(count, 3);
        EXPECT_EQ(status.MPI_TAG, 40);
        EXPECT_EQ(status.MPI_SOURCE, from);
        int flag = 0;
        ASSERT_EQ(MPI_Iprobe(MPI_ANY_SOURCE, 41, t.comm, &flag, MPI_STATUS_IGNORE), MPI_SUCCESS);
        EXPECT_EQ(flag, 0);
        ASSERT_EQ(MPI_Iprobe(MPI_ANY_SOURCE, 40, t.comm, &flag, MPI_STATUS_IGNORE), MPI_SUCCESS);
        EXPECT_EQ(flag, 1);
        std::array<int, 3> in{};
        MPI_Recv(in.data(), 3, MPI_INT, from, 40, t.comm, MPI_STATUS_IGNORE);
        EXPECT_EQ(in[0], from);
    });
}

TEST(threadcomm, a_matched_message_is_received_by_its_handle_alone) {
    threads_of t(2);
    t.run([&](int rank, int size) {
        const int to = (rank + 1) % size;
        const int from = (rank + size - 1) % size;
        for (const int n : {3, 500, 50000}) {
            std::vector<int> out(static_cast<std::size_t>(n), rank);
            std::vector<int> in(static_cast<std::size_t>(n), -1);
            MPI_Request sends[2];
            MPI_Isend(out.data(), n, MPI_INT, to, n, t.comm, &sends[0]);
            int second = 5;
            MPI_Isend(&second, 1, MPI_INT, to, n, t.comm, &sends[1]);
            MPI_Message message = MPI_MESSAGE_NULL;
            MPI_Status status;
            ASSERT_EQ(MPI_Mprobe(from, n, t.comm, &message, &status), MPI_SUCCESS);
            int other = -1;
            ASSERT_EQ(MPI_Recv(&other, 1, MPI_INT, from, n, t.comm, MPI_STATUS_IGNORE), MPI_SUCCESS);
            EXPECT_EQ(other, 5);
            ASSERT_EQ(MPI_Mrecv(in.data(), n, MPI_INT, &message, &status), MPI_SUCCESS);
            EXPECT_EQ(message, MPI_MESSAGE_NULL);
            EXPECT_EQ(in, std::vector<int>(static_cast<std::size_t>(n), from));
            MPI_Waitall(2, sends, MPI_STATUSES_IGNORE);
            int flag = -1;
            ASSERT_EQ(MPI_Improbe(from, n, t.comm, &flag, &message, &status), MPI_SUCCESS);
            EXPECT_EQ(flag, 0);
        }
        MPI_Request request = MPI_REQUEST_NULL;
        int value = rank;
        MPI_Send(&value, 1, MPI_INT, to, 2, t.comm);
        MPI_Message message = MPI_MESSAGE_NULL;
        MPI_Mprobe(MPI_ANY_SOURCE, 2, t.comm, &message, MPI_STATUS_IGNORE);
        ASSERT_EQ(MPI_Imrecv(&value, 1, MPI_INT, &message, &request), MPI_SUCCESS);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        EXPECT_EQ(value, from);
    });
}

TEST(threadcomm, a_message_longer_than_the_buffer_is_an_error_and_the_rest_stays) {
    threads_of t(2);
    t.run([&](int rank, int size) {
        const int to = (rank + 1) % size;
        const int from = (rank + size - 1) % size;
        for (const int n : {2, 100, 50000}) {
            std::vector<int> out(static_cast<std::size_t>(n), rank);
            std::vector<int> in(static_cast<std::size_t>(n), -1);
            MPI_Request request = MPI_REQUEST_NULL;
            MPI_Isend(out.data(), n, MPI_INT, to, 1, t.comm, &request);
            MPI_Status status;
            EXPECT_EQ(class_of(MPI_Recv(in.data(), n - 1, MPI_INT, from, 1, t.comm, &status)), MPI_ERR_TRUNCATE);
            EXPECT_EQ(in.front(), from);
            EXPECT_EQ(in.back(), -1);
            EXPECT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
            // The next message is not hurt.
            ASSERT_EQ(
                MPI_Sendrecv(out.data(), n, MPI_INT, to, 2, in.data(), n, MPI_INT, from, 2, t.comm, MPI_STATUS_IGNORE),
                MPI_SUCCESS);
            EXPECT_EQ(in.back(), from);
        }
    });
}

TEST(threadcomm, datatypes_with_gaps) {
    threads_of t(2);
    every_second few(3);
    every_second many(20000);
    t.run([&](int rank, int size) {
        const int to = (rank + 1) % size;
        const int from = (rank + size - 1) % size;
        for (const auto &[type, n] : {std::pair{few.type, 3}, std::pair{many.type, 20000}}) {
            const auto room = static_cast<std::size_t>(2 * n);
            std::vector<int> out(room);
            std::iota(out.begin(), out.end(), rank);
            std::vector<int> in(room, -1);
            ASSERT_EQ(MPI_Sendrecv(out.data(), 1, type, to, 0, in.data(), 1, type, from, 0, t.comm, MPI_STATUS_IGNORE),
                      MPI_SUCCESS);
            std::vector<int> dense(static_cast<std::size_t>(n), -1);
            ASSERT_EQ(
                MPI_Sendrecv(out.data(), 1, type, to, 0, dense.data(), n, MPI_INT, from, 0, t.comm, MPI_STATUS_IGNORE),
                MPI_SUCCESS);
            for (int i = 0; i < n; ++i) {
                ASSERT_EQ(in[static_cast<std::size_t>(2 * i)], from + 2 * i);
                ASSERT_EQ(in[static_cast<std::size_t>(2 * i + 1)], -1);
                ASSERT_EQ(dense[static_cast<std::size_t>(i)], from + 2 * i);
            }
        }
    });
}

TEST(threadcomm, requests_go_with_others_into_one_call) {
    threads_of t(2);
    t.run([&](int rank, int size) {
        const int to = (rank + 1) % size;
        const int from = (rank + size - 1) % size;
        int in = -1;
        int own = -1;
        std::array<MPI_Request, 4> requests;
        MPI_Irecv(&in, 1, MPI_INT, from, 0, t.comm, &requests[0]);
        MPI_Irecv(&own, 1, MPI_INT, 0, 50 + rank, MPI_COMM_SELF, &requests[1]);
        MPI_Isend(&rank, 1, MPI_INT, 0, 50 + rank, MPI_COMM_SELF, &requests[2]);
        MPI_Isend(&rank, 1, MPI_INT, to, 0, t.comm, &requests[3]);
        ASSERT_EQ(MPI_Waitall(4, requests.data(), MPI_STATUSES_IGNORE), MPI_SUCCESS);
        EXPECT_EQ(in, from);
        EXPECT_EQ(own, rank);
    });
}

TEST(threadcomm, a_receive_is_cancelled) {
    threads_of t(2);
    t.run([&](int, int) {
        int in = -1;
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Irecv(&in, 1, MPI_INT, MPI_ANY_SOURCE, 99, t.comm, &request);
        ASSERT_EQ(MPI_Cancel(&request), MPI_SUCCESS);
        MPI_Status status;
        ASSERT_EQ(MPI_Wait(&request, &status), MPI_SUCCESS);
        int cancelled = 0;
        MPI_Test_cancelled(&status, &cancelled);
        EXPECT_EQ(cancelled, 1);
    });
}

TEST(threadcomm, proc_null_and_buffered_sends) {
    threads_of t(2);
    t.run([&](int rank, int size) {
        MPI_Status status;
        int value = 4;
        ASSERT_EQ(MPI_Send(&value, 1, MPI_INT, MPI_PROC_NULL, 0, t.comm), MPI_SUCCESS);
        ASSERT_EQ(MPI_Recv(&value, 1, MPI_INT, MPI_PROC_NULL, 3, t.comm, &status), MPI_SUCCESS);
        EXPECT_EQ(status.MPI_SOURCE, MPI_PROC_NULL);
        EXPECT_EQ(status.MPI_TAG, MPI_ANY_TAG);
        EXPECT_EQ(value, 4);
        const int to = (rank + 1) % size;
        std::vector<int> out(50000, rank);
        ASSERT_EQ(MPI_Bsend(out.data(), 50000, MPI_INT, to, 0, t.comm), MPI_SUCCESS); // returns before the receive
        out.assign(out.size(), -2);
        std::vector<int> in(50000, -1);
        ASSERT_EQ(MPI_Recv(in.data(), 50000, MPI_INT, MPI_ANY_SOURCE, 0, t.comm, MPI_STATUS_IGNORE), MPI_SUCCESS);
        EXPECT_EQ(in, std::vector<int>(50000, (rank + size - 1) % size));
    });
}

TEST(threadcomm, more_than_64_threads) {
    constexpr int count = 70;
    threads_of t(processes() == 1 ? count : 2);
    t.run([&](int rank, int size) {
        int got = -1;
        MPI_Status status;
        ASSERT_EQ(
            MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 0, &got, 1, MPI_INT, MPI_ANY_SOURCE, 0, t.comm, &status),
            MPI_SUCCESS);
        EXPECT_EQ(got, (rank + size - 1) % size);
        EXPECT_EQ(status.MPI_SOURCE, got);
    });
}

TEST(threadcomm, many_messages_ahead_of_their_receives) {
    threads_of t(2);
    t.run([&](int rank, int size) {
        constexpr int ahead = 2000;
        const int to = (rank + 1) % size;
        for (int i = 0; i < ahead; ++i) {
            ASSERT_EQ(MPI_Send(&i, 1, MPI_INT, to, 0, t.comm), MPI_SUCCESS);
        }
        for (int i = 0; i < ahead; ++i) {
            int got = -1;
            ASSERT_EQ(MPI_Recv(&got, 1, MPI_INT, (rank + size - 1) % size, 0, t.comm, MPI_STATUS_IGNORE), MPI_SUCCESS);
            ASSERT_EQ(got, i);
        }
    });
}
