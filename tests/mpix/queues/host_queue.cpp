// SPDX-License-Identifier: BSD-3-Clause
// Host queues: functions in order, MPI operations between them, and what happens at their end.
#include "support.hpp"

#include <thence/host_queue.h>
#include <thence/mpix.h>

#include <array>
#include <numeric>

namespace {

class host_queue : public ::testing::Test {
protected:
    host_queue() {
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        MPI_Comm_size(MPI_COMM_WORLD, &size);
        EXPECT_EQ(thence_host_queue_create(&queue), MPI_SUCCESS);
    }
    ~host_queue() override {
        if (comm != MPI_COMM_NULL) {
            thence_host_queue_synchronize(queue);
            MPI_Comm_free(&comm);
            EXPECT_EQ(MPIX_Stream_free(&stream), MPI_SUCCESS);
        }
        if (queue != nullptr) {
            EXPECT_EQ(thence_host_queue_destroy(&queue), MPI_SUCCESS);
        }
        EXPECT_EQ(queue, nullptr);
    }
    // Makes `comm` a communicator whose operations are enqueued on this queue.
    void connect() {
        const thence_queue handle = thence_host_queue_handle(queue);
        MPI_Info info = MPI_INFO_NULL;
        MPI_Info_create(&info);
        MPI_Info_set(info, "type", "thence_queue");
        MPIX_Info_set_hex(info, "value", &handle, sizeof handle);
        EXPECT_EQ(MPIX_Stream_create(info, &stream), MPI_SUCCESS);
        MPI_Info_free(&info);
        EXPECT_EQ(MPIX_Stream_comm_create(MPI_COMM_WORLD, stream, &comm), MPI_SUCCESS);
    }
    void enqueue(void (*function)(void *), void *data) {
        EXPECT_EQ(thence_host_queue_enqueue(queue, function, data), MPI_SUCCESS);
    }

    thence_host_queue *queue = nullptr;
    MPIX_Stream stream = MPIX_STREAM_NULL;
    MPI_Comm comm = MPI_COMM_NULL;
    int rank = 0;
    int size = 1;
};

// MPI_Send and MPI_Isend are enqueued.
void send_at_once(const int &number, int to, int tag, MPI_Comm comm) {
    MPI_Request request = MPI_REQUEST_NULL;
    PMPI_Isend(&number, 1, MPI_INT, to, tag, comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

struct counted {
    std::atomic<int> *next;
    int number;
    int seen = -1;
    std::atomic<int> *running = nullptr;
    int others = 0;
};

TEST_F(host_queue, runs_functions_one_after_the_other_in_order) {
    std::atomic<int> next{0};
    std::atomic<int> running{0};
    std::vector<counted> all(1000);
    for (std::size_t i = 0; i < all.size(); ++i) {
        all[i] = {&next, static_cast<int>(i), -1, &running, 0};
        enqueue(
            [](void *data) {
                auto &arguments = *static_cast<counted *>(data);
                arguments.others = arguments.running->fetch_add(1);
                arguments.seen = arguments.next->fetch_add(1);
                arguments.running->fetch_sub(1);
            },
            &all[i]);
    }
    EXPECT_EQ(thence_host_queue_synchronize(queue), MPI_SUCCESS);
    for (const counted &each : all) {
        EXPECT_EQ(each.seen, each.number);
        EXPECT_EQ(each.others, 0);
    }
    int idle = -1;
    for (int i = 0; i < 1000 && idle != 1; ++i) {
        EXPECT_EQ(thence_host_queue_query(queue, &idle), MPI_SUCCESS);
        std::this_thread::yield();
    }
    EXPECT_EQ(idle, 1);
}

TEST_F(host_queue, takes_calls_of_several_threads_and_of_its_own_functions) {
    struct chain {
        thence_host_queue *queue;
        std::atomic<int> left{200};
    } chained{queue};
    enqueue(
        [](void *data) {
            static void (*const again)(void *) = [](void *d) {
                auto &arguments = *static_cast<chain *>(d);
                if (arguments.left.fetch_sub(1) > 1) {
                    thence_host_queue_enqueue(arguments.queue, again, d);
                }
            };
            again(data);
        },
        &chained);
    std::atomic<int> sum{0};
    std::vector<std::thread> team;
    for (int t = 0; t < 3; ++t) {
        team.emplace_back([&] {
            for (int i = 0; i < 500; ++i) {
                enqueue([](void *data) { static_cast<std::atomic<int> *>(data)->fetch_add(1); }, &sum);
            }
        });
    }
    for (std::thread &each : team) {
        each.join();
    }
    while (chained.left.load() > 0) {
        std::this_thread::yield();
    }
    EXPECT_EQ(thence_host_queue_synchronize(queue), MPI_SUCCESS);
    EXPECT_EQ(sum, 1500);
    EXPECT_LE(chained.left, 0);
}

// As the paper's example with a CUDA stream: x is received, then y = a * x + y.
struct saxpy {
    static constexpr int n = 100000;
    float a;
    std::vector<float> x, y;
    static void run(void *data) {
        auto &arguments = *static_cast<saxpy *>(data);
        for (int i = 0; i < n; ++i) {
            const auto at = static_cast<std::size_t>(i);
            arguments.y[at] = arguments.a * arguments.x[at] + arguments.y[at];
        }
    }
};
TEST_F(host_queue, computes_between_messages) {
    if (size < 2) {
        GTEST_SKIP() << "needs two processes";
    }
    connect();
    saxpy s{2.0F, std::vector<float>(saxpy::n, rank == 0 ? 1.0F : 0.0F), std::vector<float>(saxpy::n, 2.0F)};
    std::vector<float> back(saxpy::n);
    for (int round = 0; round < 10; ++round) {
        if (rank == 0) {
            EXPECT_EQ(MPIX_Send_enqueue(s.x.data(), saxpy::n, MPI_FLOAT, 1, 0, comm), MPI_SUCCESS);
            EXPECT_EQ(MPIX_Recv_enqueue(back.data(), saxpy::n, MPI_FLOAT, 1, 1, comm, MPI_STATUS_IGNORE), MPI_SUCCESS);
        } else if (rank == 1) {
            EXPECT_EQ(MPIX_Recv_enqueue(s.x.data(), saxpy::n, MPI_FLOAT, 0, 0, comm, MPI_STATUS_IGNORE), MPI_SUCCESS);
            enqueue(&saxpy::run, &s);
            EXPECT_EQ(MPIX_Send_enqueue(s.y.data(), saxpy::n, MPI_FLOAT, 0, 1, comm), MPI_SUCCESS);
        }
    }
    EXPECT_EQ(thence_host_queue_synchronize(queue), MPI_SUCCESS);
    if (rank == 0) {
        EXPECT_EQ(back[0], 22.0F);
        EXPECT_EQ(back[saxpy::n - 1], 22.0F);
    }
}

TEST_F(host_queue, keeps_no_thread_while_an_operation_is_outstanding) {
    connect();
    // More queues than oneTBB has threads wait for messages; another one goes on.
    constexpr int waiting = 64;
    std::vector<thence_host_queue *> queues(waiting);
    std::vector<MPIX_Stream> streams(waiting);
    std::vector<MPI_Comm> comms(waiting);
    std::vector<int> got(waiting, -1);
    for (std::size_t i = 0; i < waiting; ++i) {
        thence_host_queue_create(&queues[i]);
        const thence_queue handle = thence_host_queue_handle(queues[i]);
        MPI_Info info = MPI_INFO_NULL;
        MPI_Info_create(&info);
        MPI_Info_set(info, "type", "thence_queue");
        MPIX_Info_set_hex(info, "value", &handle, sizeof handle);
        MPIX_Stream_create(info, &streams[i]);
        MPI_Info_free(&info);
        MPIX_Stream_comm_create(MPI_COMM_SELF, streams[i], &comms[i]);
        MPIX_Recv_enqueue(&got[i], 1, MPI_INT, 0, 0, comms[i], MPI_STATUS_IGNORE);
    }
    std::atomic<bool> ran{false};
    enqueue([](void *data) { static_cast<std::atomic<bool> *>(data)->store(true); }, &ran);
    EXPECT_EQ(thence_host_queue_synchronize(queue), MPI_SUCCESS);
    EXPECT_TRUE(ran);
    for (std::size_t i = 0; i < waiting; ++i) {
        const int number = static_cast<int>(i);
        send_at_once(number, 0, 0, comms[i]);
    }
    for (std::size_t i = 0; i < waiting; ++i) {
        EXPECT_EQ(thence_host_queue_synchronize(queues[i]), MPI_SUCCESS);
        EXPECT_EQ(got[i], static_cast<int>(i));
        MPI_Comm_free(&comms[i]);
        MPIX_Stream_free(&streams[i]);
        EXPECT_EQ(thence_host_queue_destroy(&queues[i]), MPI_SUCCESS);
    }
}

TEST_F(host_queue, is_destroyed_when_all_is_done) {
    std::atomic<int> ran{0};
    for (int i = 0; i < 20; ++i) {
        enqueue(
            [](void *data) {
                sleep_ms(1);
                static_cast<std::atomic<int> *>(data)->fetch_add(1);
            },
            &ran);
    }
    EXPECT_EQ(thence_host_queue_destroy(&queue), MPI_SUCCESS);
    EXPECT_EQ(ran, 20) << "it waits for what is enqueued";
    EXPECT_EQ(queue, nullptr);
}

TEST_F(host_queue, is_not_destroyed_while_a_stream_uses_it) {
    connect();
    thence_host_queue *same = queue;
    EXPECT_EQ(thence_host_queue_destroy(&same), MPI_ERR_OTHER);
    EXPECT_EQ(same, queue);
    MPIX_Stream refused = stream;
    MPI_Errhandler before = MPI_ERRHANDLER_NULL;
    MPI_Comm_get_errhandler(MPI_COMM_WORLD, &before);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, errors_return());
    // Nor is the stream freed while an operation is outstanding.
    int got = -1;
    MPIX_Recv_enqueue(&got, 1, MPI_INT, rank, 3, comm, MPI_STATUS_IGNORE);
    EXPECT_EQ(class_of(MPIX_Stream_free(&refused)), MPI_ERR_OTHER);
    send_at_once(rank, rank, 3, comm);
    EXPECT_EQ(thence_host_queue_synchronize(queue), MPI_SUCCESS);
    EXPECT_EQ(got, rank);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, before);
}

TEST_F(host_queue, refuses_wrong_arguments_and_waits_for_itself) {
    thence_host_queue *null = nullptr;
    int idle = 0;
    thence_host_queue_entry entry{};
    EXPECT_EQ(thence_host_queue_create(nullptr), MPI_ERR_ARG);
    EXPECT_EQ(thence_host_queue_destroy(nullptr), MPI_ERR_ARG);
    EXPECT_EQ(thence_host_queue_destroy(&null), MPI_ERR_ARG);
    EXPECT_EQ(thence_host_queue_enqueue(
                  nullptr, [](void *) {}, nullptr),
              MPI_ERR_ARG);
    EXPECT_EQ(thence_host_queue_enqueue(queue, nullptr, nullptr), MPI_ERR_ARG);
    EXPECT_EQ(thence_host_queue_enqueue_entry(
                  queue, nullptr, [](void *) {}, nullptr),
              MPI_ERR_ARG);
    EXPECT_EQ(thence_host_queue_enqueue_entry(queue, &entry, nullptr, nullptr), MPI_ERR_ARG);
    EXPECT_EQ(thence_host_queue_synchronize(nullptr), MPI_ERR_ARG);
    EXPECT_EQ(thence_host_queue_query(nullptr, &idle), MPI_ERR_ARG);
    EXPECT_EQ(thence_host_queue_query(queue, nullptr), MPI_ERR_ARG);
    struct inside {
        thence_host_queue *queue;
        int synchronized, destroyed;
    } arguments{queue, 0, 0};
    enqueue(
        [](void *data) {
            auto &i = *static_cast<inside *>(data);
            i.synchronized = thence_host_queue_synchronize(i.queue);
            i.destroyed = thence_host_queue_destroy(&i.queue);
        },
        &arguments);
    EXPECT_EQ(thence_host_queue_synchronize(queue), MPI_SUCCESS);
    EXPECT_EQ(arguments.synchronized, MPI_ERR_PENDING);
    EXPECT_EQ(arguments.destroyed, MPI_ERR_PENDING);
}

} // namespace
