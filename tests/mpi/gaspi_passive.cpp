// SPDX-License-Identifier: BSD-3-Clause
// Passive communication: the order of messages, those that do not fit, and callbacks that send and receive.
#include "gaspi.hpp"

#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

namespace {

// Until this time MPI does not tell of messages, as if they were on their way. Those that it has told of are counted.
std::atomic<std::chrono::steady_clock::time_point> arrive_at{};
std::atomic<int> told_of{0};
std::atomic<bool> is_called{false};

} // namespace

// Called by the library in place of that of MPI. A static libthence has one of its own, which is taken then.
extern "C" __attribute__((visibility("default"), weak)) int MPI_Improbe(int source, int tag, MPI_Comm comm, int *flag,
                                                                        MPI_Message *message, MPI_Status *status) {
    is_called = true;
    if (std::chrono::steady_clock::now() < arrive_at.load()) {
        *flag = 0;
        return MPI_SUCCESS;
    }
    const int code = PMPI_Improbe(source, tag, comm, flag, message, status);
    told_of += code == MPI_SUCCESS && *flag != 0 ? 1 : 0;
    return code;
}

namespace {

constexpr gaspi_size_t longest = 60'000; // more than most MPIs send before it is received

// A rank that only looks now and then gets what others get.
gaspi_return_t receive_by_looking(gaspi_offset_t offset, gaspi_rank_t &from, gaspi_size_t size) {
    gaspi_return_t code = GASPI_TIMEOUT;
    while (code == GASPI_TIMEOUT) {
        code = gaspi_passive_receive(0, offset, &from, size, GASPI_TEST);
    }
    return code;
}

TEST_F(gaspi, passive_messages_of_one_rank_come_in_their_order) {
    unsigned char *const memory = make(0, 2 * longest);
    constexpr int pairs = 10;
    for (int i = 0; i < pairs; ++i) {
        for (const gaspi_size_t bytes : {longest, gaspi_size_t{8}}) {
            std::memset(memory, 2 * i + (bytes == longest ? 0 : 1), bytes);
            ASSERT_EQ(gaspi_passive_send(0, 0, next, bytes, GASPI_BLOCK), GASPI_SUCCESS) << i;
        }
        for (int number = 2 * i; number < 2 * i + 2; ++number) {
            gaspi_rank_t from = 9;
            ASSERT_EQ(receive_by_looking(longest, from, longest), GASPI_SUCCESS);
            EXPECT_EQ(from, previous);
            EXPECT_EQ(memory[longest + 7], number);
        }
    }
}

// What one thread tests no other gets, nor what came later from the same rank: so each thread sees an order.
TEST_F(gaspi, threads_that_receive_passive_messages_get_those_of_one_rank_in_their_order) {
    constexpr int threads = 3;
    constexpr int count = 300;
    unsigned char *const memory = make(0, (threads + 1) * longest);
    std::atomic<int> received{0};
    {
        std::vector<std::jthread> receivers;
        for (unsigned t = 1; t <= threads; ++t) {
            receivers.emplace_back([&, t] {
                int last = -1;
                while (received.load() < count) {
                    gaspi_rank_t from = 9;
                    if (gaspi_passive_receive(0, t * longest, &from, longest, GASPI_TEST) != GASPI_SUCCESS) {
                        continue;
                    }
                    int number = -1;
                    std::memcpy(&number, memory + t * longest, sizeof number);
                    EXPECT_GT(number, last);
                    last = number;
                    ++received;
                }
            });
        }
        for (int i = 0; i < count; ++i) {
            std::memcpy(memory, &i, sizeof i);
            EXPECT_EQ(gaspi_passive_send(0, 0, next, i % 3 == 0 ? longest : 8, GASPI_BLOCK), GASPI_SUCCESS);
        }
    }
    EXPECT_EQ(received, count);
}

TEST_F(gaspi, a_passive_message_that_is_too_long_is_an_error_and_waits_for_a_call_with_more_room) {
    unsigned char *const memory = make(0, 300);
    std::memset(memory, rank + 1, 100);
    ASSERT_EQ(gaspi_passive_send(0, 0, next, 100, GASPI_BLOCK), GASPI_SUCCESS);
    gaspi_rank_t from = 9;
    for (int i = 0; i < 2; ++i) {
        EXPECT_EQ(gaspi_passive_receive(0, 100, &from, 99, GASPI_BLOCK), GASPI_ERROR);
        EXPECT_EQ(from, 9);
        EXPECT_EQ(memory[100], 0);
    }
    EXPECT_EQ(gaspi_passive_receive(0, 100, &from, 150, GASPI_BLOCK), GASPI_SUCCESS);
    EXPECT_EQ(from, previous);
    EXPECT_EQ(std::count(memory + 100, memory + 200, static_cast<unsigned char>(previous + 1)), 100);
    EXPECT_EQ(std::count(memory + 200, memory + 300, 0), 100);
}

struct by_callback {
    gaspi_rank_t rank = 0;
    int received = 0;
    int sent = 0;

    static int call(int, MPI_Status *, void *data) {
        by_callback &self = *static_cast<by_callback *>(data);
        EXPECT_EQ(gaspi_passive_send(0, 0, self.rank, longest, GASPI_BLOCK), GASPI_SUCCESS);
        ++self.sent;
        gaspi_rank_t from = 9;
        if (gaspi_passive_receive(0, longest, &from, longest, GASPI_TEST) == GASPI_SUCCESS) {
            ++self.received;
        }
        return MPI_SUCCESS;
    }
};

// MPI runs callbacks in the calls of this library, too.
TEST_F(gaspi, callbacks_send_and_receive_passive_messages_inside_calls_that_do) {
    make(0, 2 * longest);
    MPI_Info info = MPI_INFO_NULL;
    MPI_Info_create(&info);
    MPI_Info_set(info, "mpi_continue_thread", "application");
    MPI_Request cr = MPI_REQUEST_NULL;
    ASSERT_EQ(thence_cr_create(0, -1, info, &cr), MPI_SUCCESS);
    MPI_Info_free(&info);
    by_callback callback;
    callback.rank = rank;
    constexpr int rounds = 100;
    for (int i = 0; i < rounds; ++i) {
        int word = -1;
        int flag = 0;
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Irecv(&word, 1, MPI_INT, previous, 5, MPI_COMM_WORLD, &request);
        ASSERT_EQ(thence_attach(1, &request, &by_callback::call, &callback, 0, MPI_STATUSES_IGNORE, cr, &flag),
                  MPI_SUCCESS);
        MPI_Send(&i, 1, MPI_INT, next, 5, MPI_COMM_WORLD);
        ASSERT_EQ(gaspi_passive_send(0, 0, rank, longest, GASPI_BLOCK), GASPI_SUCCESS);
        while (callback.received != 2 * i + 2 || callback.sent != i + 1) {
            gaspi_rank_t from = 9;
            if (flag != 0) { // it was there at once
                flag = 0;
                by_callback::call(MPI_SUCCESS, nullptr, &callback);
            }
            if (gaspi_passive_receive(0, longest, &from, longest, GASPI_TEST) == GASPI_SUCCESS) {
                ++callback.received;
            }
        }
        EXPECT_EQ(word, i);
    }
    EXPECT_EQ(thence_free(&cr), MPI_SUCCESS);
}

// One message may be under way.
class gaspi_passive_queue : public configured_gaspi {
protected:
    void configure(gaspi_config_t &config) override { config.passive_queue_size_max = 1; }
};

TEST_F(gaspi_passive_queue, a_callback_waits_for_room_that_the_call_waits_for_too) {
    make(0, 2 * longest);
    if (rank % 2 == 0 && size > 1) {
        ASSERT_EQ(gaspi_passive_send(0, 0, next, longest, GASPI_BLOCK), GASPI_SUCCESS);
        MPI_Request cr = MPI_REQUEST_NULL;
        ASSERT_EQ(thence_cr_create(THENCE_CR_ENQUEUE_COMPLETE, -1, MPI_INFO_NULL, &cr), MPI_SUCCESS);
        static gaspi_rank_t to = 0;
        to = next;
        const auto send = [](int, MPI_Status *, void *) -> int {
            EXPECT_EQ(gaspi_notify(0, to, 0, 1, 0, GASPI_BLOCK), GASPI_SUCCESS);
            EXPECT_EQ(gaspi_passive_send(0, 0, to, 8, GASPI_BLOCK), GASPI_SUCCESS);
            return MPI_SUCCESS;
        };
        MPI_Request complete = MPI_REQUEST_NULL;
        int flag = 0;
        ASSERT_EQ(thence_attach(1, &complete, send, nullptr, 0, MPI_STATUSES_IGNORE, cr, &flag), MPI_SUCCESS);
        ASSERT_EQ(gaspi_passive_send(0, 0, next, 8, GASPI_BLOCK), GASPI_SUCCESS) << "the callback runs in this call";
        EXPECT_EQ(thence_wait(&cr, MPI_STATUS_IGNORE), MPI_SUCCESS);
        EXPECT_EQ(thence_free(&cr), MPI_SUCCESS);
    } else if (size > 1) {
        EXPECT_EQ(await(0, 0), 1U);
        gaspi_rank_t from = 9;
        for (int i = 0; i < 3; ++i) {
            EXPECT_EQ(gaspi_passive_receive(0, longest, &from, longest, GASPI_BLOCK), GASPI_SUCCESS);
        }
    }
}

TEST_F(gaspi, the_end_receives_passive_messages_that_arrive_when_all_processes_are_there) {
    int flag = 0;
    MPI_Message none = MPI_MESSAGE_NULL;
    MPI_Improbe(MPI_PROC_NULL, 0, MPI_COMM_SELF, &flag, &none, MPI_STATUS_IGNORE);
    if (!is_called) {
        GTEST_SKIP() << "the library calls its own MPI_Improbe";
    }
    make(0, 64);
    constexpr int count = 3;
    for (int i = 0; i < count; ++i) {
        ASSERT_EQ(gaspi_passive_send(0, 0, next, 8, GASPI_BLOCK), GASPI_SUCCESS);
    }
    told_of = 0;
    arrive_at = std::chrono::steady_clock::now() + std::chrono::milliseconds(500);
    ASSERT_EQ(gaspi_barrier(GASPI_GROUP_ALL, GASPI_BLOCK), GASPI_SUCCESS);
    EXPECT_EQ(gaspi_proc_term(GASPI_BLOCK), GASPI_SUCCESS);
    EXPECT_EQ(told_of, count);
    arrive_at = std::chrono::steady_clock::time_point{};
}

} // namespace
