// SPDX-License-Identifier: BSD-3-Clause
// THENCE_CHECK_STREAMS: two threads in calls of one stream at the same time are reported, once per stream, with both
// threads and both calls. Needs that setting in the environment.
#include "../tasks/standard_error.hpp"
#include "multiplex.hpp"

#include <pthread.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <thread>

namespace {

constexpr const char *report = "two threads are in calls of the serial stream";

int count(const std::string &text, const std::string &words) {
    int found = 0;
    for (auto at = text.find(words); at != std::string::npos; at = text.find(words, at + 1)) {
        ++found;
    }
    return found;
}

// All that the process has printed on standard error.
std::string read_all(standard_error &printed) {
    std::fputs("end of the test\n", stderr);
    return printed.read_until("end of the test\n");
}

class serial_streams : public ::testing::Test {
protected:
    serial_streams() {
        MPIX_Stream_create(MPI_INFO_NULL, &stream);
        MPIX_Stream_comm_create(MPI_COMM_SELF, stream, &comm);
    }
    ~serial_streams() override {
        EXPECT_EQ(MPI_Comm_free(&comm), MPI_SUCCESS);
        EXPECT_EQ(MPIX_Stream_free(&stream), MPI_SUCCESS);
    }
    // One thread is in `blocked`, which lasts until the message of tag 0 is sent; another probes. Returns what is
    // printed.
    std::string report_of(const std::function<void(int &)> &blocked) const {
        standard_error printed;
        int value = 0;
        std::atomic<bool> stop{false};
        std::thread first([&] {
            pthread_setname_np(pthread_self(), "first");
            blocked(value);
        });
        std::thread second([&] {
            pthread_setname_np(pthread_self(), "second");
            while (!stop) {
                int flag = 0;
                MPI_Iprobe(0, 5, comm, &flag, MPI_STATUS_IGNORE);
                std::this_thread::yield();
            }
        });
        printed.read_until(report);
        stop = true;
        second.join();
        const int sent = 7;
        MPI_Send(&sent, 1, MPI_INT, 0, 0, comm); // the third thread is not reported
        first.join();
        EXPECT_EQ(value, 7);
        return read_all(printed);
    }

    MPIX_Stream stream = MPIX_STREAM_NULL;
    MPI_Comm comm = MPI_COMM_NULL;
};

TEST_F(serial_streams, two_threads_on_a_communicator_are_reported_once_with_both_calls) {
    const std::string text =
        report_of([&](int &value) { MPI_Recv(&value, 1, MPI_INT, 0, 0, comm, MPI_STATUS_IGNORE); });
    EXPECT_EQ(count(text, report), 1) << text;
    EXPECT_NE(text.find("MPI_Recv on thread "), std::string::npos) << text;
    EXPECT_NE(text.find("MPI_Iprobe on thread "), std::string::npos) << text;
    EXPECT_NE(text.find("(first)"), std::string::npos) << text;
    EXPECT_NE(text.find("(second)"), std::string::npos) << text;
}

TEST_F(serial_streams, a_wait_for_a_request_is_a_call_of_the_stream) {
    const std::string text = report_of([&](int &value) {
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Irecv(&value, 1, MPI_INT, 0, 0, comm, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        EXPECT_EQ(request, MPI_REQUEST_NULL);
    });
    EXPECT_EQ(count(text, report), 1) << text;
    EXPECT_TRUE(text.find("MPI_Wait on") != std::string::npos || text.find("MPI_Irecv on") != std::string::npos)
        << text;
}

TEST_F(serial_streams, a_wait_for_several_is_one_of_each_of_their_streams) {
    const std::string text = report_of([&](int &value) {
        int other = 0;
        MPI_Request requests[3] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
        MPI_Irecv(&other, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_SELF, &requests[0]);
        MPI_Recv_init(&value, 1, MPI_INT, 0, 0, comm, &requests[2]);
        MPI_Startall(1, &requests[2]);
        MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
        MPI_Request_free(&requests[2]);
    });
    EXPECT_EQ(count(text, report), 1) << text;
}

TEST_F(serial_streams, threads_that_take_turns_are_not_reported) {
    standard_error printed;
    for (int i = 0; i < 20; ++i) {
        std::thread([&] {
            int value = 0;
            const int sent = i;
            MPI_Request requests[2];
            MPI_Irecv(&value, 1, MPI_INT, 0, 0, comm, &requests[0]);
            MPI_Isend(&sent, 1, MPI_INT, 0, 0, comm, &requests[1]);
            MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
            MPI_Barrier(comm);
            EXPECT_EQ(value, i);
        }).join();
    }
    const std::string text = read_all(printed);
    EXPECT_EQ(count(text, "thence:"), 0) << text;
}

TEST_F(serial_streams, threads_with_streams_of_their_own_are_not_reported) {
    standard_error printed;
    std::atomic<int> there{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 2; ++i) {
        threads.emplace_back([&] {
            MPIX_Stream mine = MPIX_STREAM_NULL;
            MPI_Comm own = MPI_COMM_NULL;
            MPIX_Stream_create(MPI_INFO_NULL, &mine);
            MPIX_Stream_comm_create(MPI_COMM_SELF, mine, &own);
            int value = 0;
            MPI_Request request = MPI_REQUEST_NULL;
            MPI_Irecv(&value, 1, MPI_INT, 0, 0, own, &request);
            for (there.fetch_add(1); there < 2;) { // both are in calls at about the same time
                int flag = 0;
                MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
            }
            const int sent = 1;
            MPI_Send(&sent, 1, MPI_INT, 0, 0, own);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            MPI_Comm_free(&own);
            MPIX_Stream_free(&mine);
        });
    }
    for (std::thread &each : threads) {
        each.join();
    }
    const std::string text = read_all(printed);
    EXPECT_EQ(count(text, "thence:"), 0) << text;
}

// MPI gives requests that are complete at once the same handle, also those of different streams and threads.
TEST_F(serial_streams, requests_that_are_complete_at_once_are_of_no_stream) {
    MPIX_Stream other_stream = MPIX_STREAM_NULL;
    MPI_Comm other = MPI_COMM_NULL;
    MPIX_Stream_create(MPI_INFO_NULL, &other_stream);
    MPIX_Stream_comm_create(MPI_COMM_SELF, other_stream, &other);
    standard_error printed;
    MPI_Request mine = MPI_REQUEST_NULL;
    MPI_Isend(nullptr, 0, MPI_INT, MPI_PROC_NULL, 0, comm, &mine);
    std::atomic<bool> blocked{false};
    std::thread its_thread([&] { // in a call of the other stream until the message of tag 1 has come
        int values[2] = {};
        int index = -1;
        MPI_Request complete = MPI_REQUEST_NULL;
        MPI_Isend(nullptr, 0, MPI_INT, MPI_PROC_NULL, 0, other, &complete);
        MPI_Request requests[2];
        MPI_Irecv(&values[0], 1, MPI_INT, 0, 0, other, &requests[0]);
        MPI_Irecv(&values[1], 1, MPI_INT, 0, 1, MPI_COMM_SELF, &requests[1]);
        blocked = true;
        MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE);
        EXPECT_EQ(index, 1);
        const int sent = 7;
        MPI_Send(&sent, 1, MPI_INT, 0, 0, other);
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        EXPECT_EQ(values[0], 7);
        MPI_Wait(&complete, MPI_STATUS_IGNORE);
    });
    while (!blocked) {
        std::this_thread::yield();
    }
    int flag = 0;
    for (int i = 0; i < 50; ++i) {
        MPI_Request_get_status(mine, &flag, MPI_STATUS_IGNORE);
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    MPI_Wait(&mine, MPI_STATUS_IGNORE);
    const int sent = 1;
    MPI_Send(&sent, 1, MPI_INT, 0, 1, MPI_COMM_SELF);
    its_thread.join();
    MPI_Comm_free(&other);
    MPIX_Stream_free(&other_stream);
    const std::string text = read_all(printed);
    EXPECT_EQ(count(text, "thence:"), 0) << text;
}

class serial_multiplex : public multiplex_test {};

TEST_F(serial_multiplex, two_threads_on_one_index_are_reported) {
    create(2);
    standard_error printed;
    int received = 0;
    std::atomic<bool> stop{false};
    std::thread first([&] { recv(received, rank, 0, 1, 0); });
    std::thread second([&] {
        while (!stop) {
            send(1, MPI_PROC_NULL, 0, 0, 0); // index 0, as the receive
            std::this_thread::yield();
        }
    });
    static_cast<void>(printed.read_until(report));
    stop = true;
    second.join();
    send(7, rank, 0, 1, 0); // index 1: another stream
    first.join();
    EXPECT_EQ(received, 7);
    const std::string all = read_all(printed);
    EXPECT_EQ(count(all, report), 1) << all;
    EXPECT_NE(all.find("thence_stream_recv on thread"), std::string::npos) << all;
    EXPECT_NE(all.find("thence_stream_send on thread"), std::string::npos) << all;
}

} // namespace
