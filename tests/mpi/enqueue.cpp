// SPDX-License-Identifier: BSD-3-Clause
// Enqueued messages and waits, on a queue of the test's own.
#include "thread_queue.hpp"

#include <thence/mpix.h>

#include <array>
#include <numeric>
#include <string>

namespace {

TEST_P(enqueue, messages_are_sent_and_received_in_the_order_of_the_queue) {
    queued_communicator q(GetParam());
    std::vector<int> out(100);
    std::vector<int> in(100);
    // The queue fills the buffer before the send, and reads the other one after the receive.
    for (int round = 0; round < 20; ++round) {
        q.queue.push([&, round] { std::iota(out.begin(), out.end(), 1000 * round + rank); });
        MPI_Request request = MPI_REQUEST_NULL;
        EXPECT_EQ(MPIX_Irecv_enqueue(in.data(), 100, MPI_INT, previous(), round, q.comm, &request), MPI_SUCCESS);
        EXPECT_NE(request, MPI_REQUEST_NULL);
        EXPECT_EQ(MPIX_Send_enqueue(out.data(), 100, MPI_INT, next(), round, q.comm), MPI_SUCCESS);
        EXPECT_EQ(MPIX_Wait_enqueue(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
        EXPECT_EQ(request, MPI_REQUEST_NULL);
        q.queue.push([&, round] { EXPECT_EQ(in[99], 1000 * round + previous() + 99); });
    }
    q.queue.synchronize();
    EXPECT_EQ(in[0], 19000 + previous());
}

TEST_P(enqueue, calls_return_before_the_queue_is_there) {
    queued_communicator q(GetParam());
    std::atomic<bool> open{false};
    q.queue.push([&] {
        while (!open) {
            std::this_thread::yield();
        }
    });
    int got = -1;
    MPI_Status status{};
    MPI_Request request = MPI_REQUEST_NULL;
    MPIX_Isend_enqueue(&rank, 1, MPI_INT, next(), 3, q.comm, &request);
    EXPECT_EQ(MPIX_Recv_enqueue(&got, 1, MPI_INT, previous(), 3, q.comm, &status), MPI_SUCCESS);
    MPIX_Wait_enqueue(&request, MPI_STATUS_IGNORE);
    thence_stream refused = q.stream;
    EXPECT_EQ(class_of(thence_stream_free(&refused)), MPI_ERR_OTHER) << "its communicator exists";
    thence_progress();
    EXPECT_EQ(got, -1);
    open = true;
    q.queue.synchronize();
    EXPECT_EQ(got, previous());
    EXPECT_EQ(status.MPI_SOURCE, previous());
    EXPECT_EQ(status.MPI_TAG, 3);
    EXPECT_EQ(status.MPI_ERROR, MPI_SUCCESS);
}

// A queue that another thread lets go on after some time.
class gate {
public:
    explicit gate(thread_queue &queue) {
        queue.push([this] {
            while (!open_) {
                std::this_thread::yield();
            }
        });
    }
    ~gate() {
        if (opener_.joinable()) {
            opener_.join();
        }
    }
    gate(const gate &) = delete;
    gate &operator=(const gate &) = delete;
    void open() { open_ = true; }
    void open_later() {
        opener_ = std::thread([this] {
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
            open_ = true;
        });
    }
    bool is_open() const { return open_; }

private:
    std::atomic<bool> open_{false};
    std::thread opener_;
};

TEST_P(enqueue, a_communicator_is_freed_when_its_operations_have_begun) {
    queued_communicator q(GetParam());
    for (const bool disconnects : {false, true}) {
        MPI_Comm second = MPI_COMM_NULL;
        MPI_Comm_dup(q.comm, &second);
        gate closed(q.queue);
        int got = -1;
        MPI_Request request = MPI_REQUEST_NULL;
        EXPECT_EQ(MPIX_Irecv_enqueue(&got, 1, MPI_INT, previous(), 3, second, &request), MPI_SUCCESS);
        EXPECT_EQ(MPIX_Send_enqueue(&rank, 1, MPI_INT, next(), 3, second), MPI_SUCCESS);
        EXPECT_EQ(MPIX_Wait_enqueue(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
        closed.open_later();
        EXPECT_EQ(disconnects ? MPI_Comm_disconnect(&second) : MPI_Comm_free(&second), MPI_SUCCESS);
        EXPECT_TRUE(closed.is_open()) << "it waited";
        EXPECT_EQ(second, MPI_COMM_NULL);
        if (disconnects) {
            EXPECT_EQ(got, previous()) << "it waited until they were complete";
        }
        q.queue.synchronize();
        EXPECT_EQ(got, previous());
    }
}

// Nobody synchronizes the queue before communicator and stream are freed.
TEST_P(enqueue, communicator_and_stream_are_freed_behind_their_operations_as_in_the_paper) {
    constexpr int n = 100'000;
    thread_queue queue(GetParam());
    thence_stream stream = create_stream(queue.handle());
    MPI_Comm comm = MPI_COMM_NULL;
    ASSERT_EQ(thence_stream_comm_create(MPI_COMM_WORLD, stream, &comm), MPI_SUCCESS);
    const std::vector<float> sent(n, static_cast<float>(rank + 1));
    std::vector<float> x(n);
    std::vector<float> y(n, 2);
    gate closed(queue);
    MPI_Request request = MPI_REQUEST_NULL;
    EXPECT_EQ(MPIX_Isend_enqueue(sent.data(), n, MPI_FLOAT, next(), 0, comm, &request), MPI_SUCCESS);
    EXPECT_EQ(MPIX_Recv_enqueue(x.data(), n, MPI_FLOAT, previous(), 0, comm, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(MPIX_Wait_enqueue(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    queue.push([&] {
        for (int i = 0; i < n; ++i) {
            y[static_cast<std::size_t>(i)] += 2 * x[static_cast<std::size_t>(i)];
        }
    });
    closed.open_later();
    EXPECT_EQ(MPI_Comm_free(&comm), MPI_SUCCESS);
    EXPECT_EQ(MPIX_Stream_free(&stream), MPI_SUCCESS);
    EXPECT_EQ(stream, MPIX_STREAM_NULL);
    EXPECT_EQ(queue.in_use, 0);
    EXPECT_EQ(queue.memory, 0);
    queue.synchronize();
    EXPECT_EQ(y, std::vector<float>(n, 2 + 2 * static_cast<float>(previous() + 1)));
}

// It would wait for what cannot begin before it returns.
TEST_P(enqueue, a_callback_does_not_free_a_communicator_whose_operations_have_not_begun) {
    struct attempt {
        MPI_Comm comm = MPI_COMM_NULL;
        int code = MPI_SUCCESS;
        bool over = false;
    } seen;
    queued_communicator q(GetParam());
    gate closed(q.queue);
    MPI_Request send = MPI_REQUEST_NULL;
    EXPECT_EQ(MPIX_Isend_enqueue(&rank, 1, MPI_INT, next(), 3, q.comm, &send), MPI_SUCCESS);
    MPI_Request cr = MPI_REQUEST_NULL;
    MPI_Request receive = MPI_REQUEST_NULL;
    int got = -1;
    ASSERT_EQ(thence_cr_create(THENCE_CR_ENQUEUE_COMPLETE, -1, MPI_INFO_NULL, &cr), MPI_SUCCESS);
    MPI_Irecv(&got, 1, MPI_INT, 0, 9, MPI_COMM_SELF, &receive);
    seen.comm = q.comm;
    const auto callback = [](int, MPI_Status *, void *data) {
        auto &tried = *static_cast<attempt *>(data);
        tried.code = MPI_Comm_free(&tried.comm);
        tried.over = true;
        return int{MPI_SUCCESS};
    };
    ASSERT_EQ(thence_attach(1, &receive, callback, &seen, 0, MPI_STATUSES_IGNORE, cr, nullptr), MPI_SUCCESS);
    MPI_Send(&rank, 1, MPI_INT, 0, 9, MPI_COMM_SELF);
    EXPECT_EQ(thence_wait(&cr, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_TRUE(seen.over);
    EXPECT_EQ(class_of(seen.code), MPI_ERR_PENDING);
    EXPECT_EQ(seen.comm, q.comm) << "nothing has changed";
    closed.open();
    EXPECT_EQ(MPIX_Recv_enqueue(&got, 1, MPI_INT, previous(), 3, q.comm, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(MPIX_Wait_enqueue(&send, MPI_STATUS_IGNORE), MPI_SUCCESS);
    q.queue.synchronize();
    EXPECT_EQ(got, previous());
    EXPECT_EQ(thence_free(&cr), MPI_SUCCESS);
}

TEST_P(enqueue, match_calls_that_are_not_enqueued) {
    queued_communicator q(GetParam());
    int got = -1;
    MPIX_Recv_enqueue(&got, 1, MPI_INT, previous(), 0, q.comm, MPI_STATUS_IGNORE);
    MPI_Request request = MPI_REQUEST_NULL;
    PMPI_Isend(&rank, 1, MPI_INT, next(), 0, q.comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    q.queue.synchronize();
    EXPECT_EQ(got, previous());
}

// The queue fills the buffer behind the call, so a send that begins in the call sends the wrong value.
TEST_P(enqueue, mpi_send_and_mpi_recv_are_enqueued) {
    queued_communicator q(GetParam());
    std::atomic<bool> open{false};
    int out = -1;
    int got = -2;
    int seen = -3;
    MPI_Status status{};
    q.queue.push([&] {
        while (!open) {
            std::this_thread::yield();
        }
        out = 100 + rank;
    });
    MPI_Request request = MPI_REQUEST_NULL; // a receive that does not wait, so that each rank may send first
    MPIX_Irecv_enqueue(&got, 1, MPI_INT, previous(), 7, q.comm, &request);
    EXPECT_EQ(MPI_Send(&out, 1, MPI_INT, next(), 7, q.comm), MPI_SUCCESS);
    MPIX_Wait_enqueue(&request, MPI_STATUS_IGNORE);
    const int eight = 8;
    MPI_Request behind = MPI_REQUEST_NULL;
    MPI_Isend(&eight, 1, MPI_INT, next(), 8, q.comm, &behind);
    EXPECT_EQ(MPI_Recv(&seen, 1, MPI_INT, previous(), 8, q.comm, &status), MPI_SUCCESS);
    EXPECT_EQ(seen, -3) << "it has not begun";
    open = true;
    q.queue.synchronize();
    MPI_Wait(&behind, MPI_STATUS_IGNORE);
    EXPECT_EQ(got, 100 + previous());
    EXPECT_EQ(seen, 8);
    EXPECT_EQ(status.MPI_SOURCE, previous());
}

TEST_P(enqueue, a_status_is_written_when_the_queue_waits_and_not_before) {
    queued_communicator q(GetParam());
    int first = -1;
    int second = -1;
    MPI_Status status{};
    std::array<int, 2> tags{-1, -1};
    MPI_Request one = MPI_REQUEST_NULL;
    MPI_Request two = MPI_REQUEST_NULL;
    const int numbers[2] = {10 + rank, 20 + rank};
    MPIX_Irecv_enqueue(&first, 1, MPI_INT, previous(), 1, q.comm, &one);
    MPIX_Irecv_enqueue(&second, 1, MPI_INT, previous(), 2, q.comm, &two);
    MPIX_Send_enqueue(&numbers[0], 1, MPI_INT, next(), 1, q.comm);
    MPIX_Send_enqueue(&numbers[1], 1, MPI_INT, next(), 2, q.comm);
    MPIX_Wait_enqueue(&one, &status); // both waits write the same status
    q.queue.push([&] {
        sleep_ms(20);
        tags[0] = status.MPI_TAG;
    });
    MPIX_Wait_enqueue(&two, &status);
    q.queue.push([&] { tags[1] = status.MPI_TAG; });
    q.queue.synchronize();
    EXPECT_EQ(tags, (std::array<int, 2>{1, 2}));
    EXPECT_EQ(first, 10 + previous());
    EXPECT_EQ(second, 20 + previous());
}

TEST_P(enqueue, waitall_takes_null_requests_and_gives_all_statuses) {
    queued_communicator q(GetParam());
    std::array<int, 3> in{-1, -1, -1};
    std::array<MPI_Request, 7> requests{};
    requests.fill(MPI_REQUEST_NULL);
    std::array<MPI_Status, 7> statuses{};
    const std::array<int, 3> out{rank, rank + 100, rank + 200};
    for (std::size_t i = 0; i < 3; ++i) {
        MPIX_Irecv_enqueue(&in[i], 1, MPI_INT, previous(), static_cast<int>(i), q.comm, &requests[2 * i]);
    }
    for (std::size_t i = 0; i < 3; ++i) {
        MPI_Request request = MPI_REQUEST_NULL;
        MPIX_Isend_enqueue(&out[2 - i], 1, MPI_INT, next(), static_cast<int>(2 - i), q.comm, &request);
        requests[i == 0 ? 1 : i == 1 ? 3 : 6] = request;
    }
    EXPECT_EQ(MPIX_Waitall_enqueue(7, requests.data(), statuses.data()), MPI_SUCCESS);
    for (const MPI_Request &each : requests) {
        EXPECT_EQ(each, MPI_REQUEST_NULL);
    }
    q.queue.synchronize();
    for (std::size_t i = 0; i < 3; ++i) {
        EXPECT_EQ(in[i], previous() + 100 * static_cast<int>(i));
        EXPECT_EQ(statuses[2 * i].MPI_TAG, static_cast<int>(i));
        EXPECT_EQ(statuses[2 * i].MPI_SOURCE, previous());
    }
    EXPECT_EQ(statuses[5].MPI_TAG, MPI_ANY_TAG) << "the status of a null request is empty";
    EXPECT_EQ(MPIX_Waitall_enqueue(0, nullptr, MPI_STATUSES_IGNORE), MPI_SUCCESS);
    MPI_Request null = MPI_REQUEST_NULL;
    MPI_Status empty{};
    EXPECT_EQ(MPIX_Wait_enqueue(&null, &empty), MPI_SUCCESS);
    EXPECT_EQ(empty.MPI_SOURCE, MPI_ANY_SOURCE);
}

TEST_P(enqueue, a_request_can_be_waited_for_by_a_thread_of_the_program) {
    queued_communicator q(GetParam());
    int got = -1;
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Status statuses[2] = {};
    MPIX_Irecv_enqueue(&got, 1, MPI_INT, previous(), 8, q.comm, &requests[0]);
    MPIX_Isend_enqueue(&rank, 1, MPI_INT, next(), 8, q.comm, &requests[1]);
    MPI_Waitall(2, requests, statuses);
    EXPECT_EQ(got, previous());
    EXPECT_EQ(statuses[0].MPI_SOURCE, previous());
    EXPECT_EQ(statuses[0].MPI_TAG, 8);
    int count = -1;
    MPI_Get_count(&statuses[0], MPI_INT, &count);
    EXPECT_EQ(count, 1);
    EXPECT_EQ(requests[0], MPI_REQUEST_NULL);
}

TEST_P(enqueue, large_counts_are_taken) {
    queued_communicator q(GetParam());
    int got = -1;
    MPI_Request request = MPI_REQUEST_NULL;
    EXPECT_EQ(MPIX_Irecv_enqueue_c(&got, MPI_Count{1}, MPI_INT, previous(), 8, q.comm, &request), MPI_SUCCESS);
    EXPECT_EQ(MPIX_Send_enqueue_c(&rank, MPI_Count{1}, MPI_INT, next(), 8, q.comm), MPI_SUCCESS);
    EXPECT_EQ(MPIX_Wait_enqueue(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    q.queue.synchronize();
    EXPECT_EQ(got, previous());
}

// The program's own kind of operation.
struct reduction {
    const int *from;
    int *to;
};
TEST_P(enqueue, takes_any_operation) {
    queued_communicator q(GetParam());
    int sum = -1;
    const reduction what{&rank, &sum};
    const auto start = [](MPI_Comm comm, void *data, MPI_Request *request) {
        const auto &args = *static_cast<const reduction *>(data);
        return MPI_Iallreduce(args.from, args.to, 1, MPI_INT, MPI_SUM, comm, request);
    };
    EXPECT_EQ(thence_start_enqueue(start, &what, sizeof what, q.comm, MPI_STATUS_IGNORE), MPI_SUCCESS);
    q.queue.push([&] { EXPECT_EQ(sum, size * (size - 1) / 2); });
    MPI_Request request = MPI_REQUEST_NULL;
    int second = -1;
    const reduction again{&rank, &second};
    EXPECT_EQ(thence_istart_enqueue(start, &again, sizeof again, q.comm, &request), MPI_SUCCESS);
    EXPECT_EQ(thence_wait_enqueue(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    q.queue.synchronize();
    EXPECT_EQ(second, size * (size - 1) / 2);
}

// Blocking calls inside the functions of a queue would wait for each other here (MPICH's way, on one thread per
// device).
TEST_P(enqueue, queues_of_one_process_do_not_wait_for_each_other) {
    queued_communicator receiver(GetParam(), MPI_COMM_SELF);
    queued_communicator sender(GetParam(), MPI_COMM_SELF);
    std::vector<int> big(300000, 7);
    std::vector<int> got(300000);
    MPI_Comm both = MPI_COMM_NULL; // of two streams: the receiver's
    int dummy = 0;
    MPI_Request request = MPI_REQUEST_NULL;
    MPIX_Irecv_enqueue(got.data(), 300000, MPI_INT, 0, 0, receiver.comm, &request);
    MPIX_Send_enqueue(big.data(), 300000, MPI_INT, 0, 0, receiver.comm); // larger than any eager limit
    MPIX_Wait_enqueue(&request, MPI_STATUS_IGNORE);
    MPIX_Irecv_enqueue(&dummy, 1, MPI_INT, 0, 0, sender.comm, &request);
    MPIX_Send_enqueue(big.data(), 1, MPI_INT, 0, 0, sender.comm);
    MPIX_Wait_enqueue(&request, MPI_STATUS_IGNORE);
    sender.queue.synchronize();
    receiver.queue.synchronize();
    EXPECT_EQ(got[299999], 7);
    EXPECT_EQ(dummy, 7);
    EXPECT_EQ(both, MPI_COMM_NULL);
}

TEST_P(enqueue, threads_may_share_a_queue) {
    queued_communicator q(GetParam(), MPI_COMM_SELF);
    constexpr int threads = 3;
    constexpr int rounds = 100;
    std::array<std::array<int, rounds>, threads> got{};
    std::array<std::array<int, rounds>, threads> sent{};
    int level = 0;
    MPI_Query_thread(&level);
    std::vector<std::thread> team;
    const auto work = [&](int t) {
        const auto mine = static_cast<std::size_t>(t);
        for (int i = 0; i < rounds; ++i) {
            const auto at = static_cast<std::size_t>(i);
            sent[mine][at] = 1000 * t + i;
            MPI_Request request = MPI_REQUEST_NULL;
            EXPECT_EQ(MPIX_Irecv_enqueue(&got[mine][at], 1, MPI_INT, 0, t, q.comm, &request), MPI_SUCCESS);
            EXPECT_EQ(MPIX_Send_enqueue(&sent[mine][at], 1, MPI_INT, 0, t, q.comm), MPI_SUCCESS);
            EXPECT_EQ(MPIX_Wait_enqueue(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
        }
    };
    for (int t = 1; t < threads && level == MPI_THREAD_MULTIPLE; ++t) {
        team.emplace_back(work, t);
    }
    work(0);
    for (std::thread &each : team) {
        each.join();
    }
    q.queue.synchronize();
    EXPECT_EQ(got[0], sent[0]);
    if (!team.empty()) {
        EXPECT_EQ(got, sent);
    }
}

ENQUEUE_RULES(enqueue);

} // namespace
