// SPDX-License-Identifier: BSD-3-Clause
// Messages between processes, where MPI refuses a call.
#include "mpix/messages/transport.hpp"

#include "core/mpi/calls.hpp"
#include "fake_mpi.hpp"
#include "mpix/messages/endpoint.hpp"
#include "mpix/messages/requests.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace {

using namespace thence::messages;
using thence::mpi::table;

constexpr std::size_t large = 100'000;
bool refuse_headers = false;
decltype(table.Irecv) fakes_irecv = nullptr;
decltype(table.Isend) fakes_isend = nullptr;

int isend(const void *, int, MPI_Datatype, int, int tag, MPI_Comm, MPI_Request *request) {
    *request = MPI_REQUEST_NULL;
    return tag == 0 && !refuse_headers ? MPI_SUCCESS : MPI_ERR_INTERN;
}
int irecv(void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *request) {
    *request = MPI_REQUEST_NULL;
    return MPI_ERR_INTERN;
}
struct {
    void *buffer = nullptr;
    int count = 0;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    int freed = 0;
} noted;
int note_irecv(void *buffer, int count, MPI_Datatype type, int, int, MPI_Comm, MPI_Request *request) {
    noted.buffer = buffer;
    noted.count = count;
    noted.type = type;
    *request = MPI_REQUEST_NULL;
    return MPI_SUCCESS;
}
// A float stands for the duplicate.
int type_dup(MPI_Datatype, MPI_Datatype *copy) {
    *copy = MPI_FLOAT;
    return MPI_SUCCESS;
}
int type_free(MPI_Datatype *type) {
    noted.freed += *type == MPI_FLOAT ? 1 : 0;
    *type = MPI_DATATYPE_NULL;
    return MPI_SUCCESS;
}
int ibarrier(MPI_Comm, MPI_Request *request) {
    *request = MPI_REQUEST_NULL;
    return MPI_SUCCESS;
}
endpoint *to_data(void *data, const wire_header &) noexcept {
    return static_cast<endpoint *>(data);
}

class transports : public ::testing::Test {
protected:
    transports() {
        thence::fake::world.begin({});
        fakes_irecv = table.Irecv;
        table.Ibarrier = &ibarrier;
        table.Comm_dup(MPI_COMM_SELF, &comm);
    }
    ~transports() override { thence::fake::world.end(); }

    // A message of one int from another process.
    MPI_Request send(int value) {
        struct {
            wire_header header;
            int data;
        } message{};
        message.header.bytes = sizeof message.data;
        message.header.tag = 3;
        message.data = value;
        MPI_Request sent = MPI_REQUEST_NULL;
        table.Isend(&message, sizeof message.header + sizeof message.data, MPI_BYTE, 0, 0, comm, &sent);
        return sent;
    }
    // What has come first; -1: nothing has come.
    int receive() {
        int got = -1;
        outcome found;
        if (here.probe({MPI_ANY_SOURCE, 0, 3}, found)) {
            p2p_operation op;
            op.data = bytes_at(&got, sizeof got);
            op.wanted = {MPI_ANY_SOURCE, 0, 3};
            here.post(op);
        }
        return got;
    }

    MPI_Comm comm = MPI_COMM_NULL;
    endpoint here;
};

} // namespace

TEST_F(transports, a_send_that_mpi_refuses_is_an_error) {
    transport t(comm, &to_data, &here);
    const std::vector<unsigned char> data(large);
    table.Isend = &isend;
    for (const bool headers : {true, false}) {
        refuse_headers = headers;
        for (const std::size_t bytes : {std::size_t{8}, large}) {
            p2p_operation op;
            op.data = bytes_at(data.data(), bytes);
            int error = MPI_SUCCESS;
            EXPECT_TRUE(t.send(0, {}, op, false, error));
            EXPECT_EQ(error, headers || bytes == large ? MPI_ERR_INTERN : MPI_SUCCESS);
        }
    }
}

// Else the receiver would wait for the data.
TEST_F(transports, a_receiver_does_not_learn_of_a_send_whose_data_mpi_refuses) {
    transport t(comm, &to_data, &here);
    ASSERT_EQ(t.begin(), MPI_SUCCESS);
    const std::vector<unsigned char> data(large);
    fakes_isend = table.Isend;
    table.Isend = [](const void *at, int count, MPI_Datatype type, int to, int tag, MPI_Comm on, MPI_Request *request) {
        return tag == 0 ? fakes_isend(at, count, type, to, tag, on, request) : int{MPI_ERR_TYPE};
    };
    p2p_operation op;
    op.data = bytes_at(data.data(), large);
    int error = MPI_SUCCESS;
    EXPECT_TRUE(t.send(0, {}, op, false, error));
    EXPECT_EQ(error, MPI_ERR_TYPE);
    thence::fake::world.progress();
    t.poll();
    EXPECT_FALSE(here.any_arrived());
    EXPECT_FALSE(t.any_under_way());
}

TEST_F(transports, data_whose_header_mpi_refuses_are_not_waited_for) {
    transport t(comm, &to_data, &here);
    const std::vector<unsigned char> data(large);
    fakes_isend = table.Isend;
    table.Isend = [](const void *at, int count, MPI_Datatype type, int to, int tag, MPI_Comm on, MPI_Request *request) {
        return tag != 0 ? fakes_isend(at, count, type, to, tag, on, request) : int{MPI_ERR_INTERN};
    };
    p2p_operation op;
    op.data = bytes_at(data.data(), large);
    int error = MPI_SUCCESS;
    EXPECT_TRUE(t.send(0, {}, op, false, error));
    EXPECT_EQ(error, MPI_ERR_INTERN);
    EXPECT_EQ(op.transfer, MPI_REQUEST_NULL);
    EXPECT_FALSE(t.any_under_way());
}

// The sender waits until its data are received.
TEST_F(transports, data_are_received_although_mpi_refuses_the_buffer_of_the_receiver) {
    transport t(comm, &to_data, &here);
    static std::vector<unsigned char> data(large);
    table.Irecv = [](void *at, int count, MPI_Datatype type, int from, int tag, MPI_Comm on, MPI_Request *request) {
        return at == data.data() ? int{MPI_ERR_TYPE} : note_irecv(at, count, type, from, tag, on, request);
    };
    p2p_operation op;
    op.data = bytes_at(data.data(), large);
    op.remote = &t;
    op.process = 0;
    op.serial = 1;
    op.result.bytes = large;
    t.start_receive(op);
    EXPECT_FALSE(op.done) << "until the data have come";
    EXPECT_EQ(noted.buffer, op.room);
    EXPECT_EQ(noted.count, int{large});
    table.Irecv = &irecv; // no header comes
    t.poll();
    EXPECT_TRUE(op.done);
    EXPECT_EQ(op.result.error, MPI_ERR_TYPE);
}

TEST_F(transports, a_receive_that_mpi_refuses_ends_with_an_error) {
    transport t(comm, &to_data, &here);
    std::vector<unsigned char> data(large);
    table.Irecv = &irecv;
    for (const std::size_t room : {large, large / 2}) {
        p2p_operation op;
        op.data = bytes_at(data.data(), room);
        op.remote = &t;
        op.process = 0;
        op.serial = 1;
        op.result.bytes = large;
        op.result.error = room < large ? MPI_ERR_TRUNCATE : MPI_SUCCESS;
        t.start_receive(op);
        EXPECT_TRUE(op.done);
        EXPECT_EQ(op.result.error, MPI_ERR_INTERN);
        EXPECT_EQ(op.room, nullptr);
    }
}

// MPI takes no number of bytes beyond 2^31 - 1, so the receive is one of elements. The user may have freed the type.
TEST_F(transports, a_receive_of_4_gib_goes_to_the_buffer_of_its_request) {
    constexpr int count = 1 << 29;
    transport t(comm, &to_data, &here);
    table.Irecv = &note_irecv;
    table.Type_dup = &type_dup;
    table.Type_free = &type_free;
    table.Status_set_elements_x = [](MPI_Status *, MPI_Datatype, MPI_Count) -> int { return MPI_SUCCESS; };
    table.Status_set_cancelled = [](MPI_Status *, int) -> int { return MPI_SUCCESS; };
    auto *const op = new p2p_operation; // its request deletes it
    double buffer = 0;
    op->data = {&buffer, count, MPI_DOUBLE, std::uint64_t{count} * sizeof buffer, &buffer, nullptr};
    ASSERT_EQ(start_request(*op), MPI_SUCCESS);
    MPI_Request request = op->request;
    op->remote = &t;
    op->process = 0;
    op->serial = 1;
    op->result.bytes = op->data.bytes;
    t.start_receive(*op);
    EXPECT_EQ(noted.buffer, &buffer);
    EXPECT_EQ(noted.count, count);
    EXPECT_EQ(noted.type, MPI_FLOAT) << "the duplicate";
    EXPECT_EQ(noted.freed, 0);
    table.Irecv = &irecv; // no header comes
    t.poll();
    EXPECT_EQ(noted.freed, 1);
    EXPECT_EQ(op->result.error, MPI_SUCCESS);
    EXPECT_EQ(op->result.bytes, op->data.bytes);
    table.Wait(&request, MPI_STATUS_IGNORE);
}

// The same happens when memory ends: there is no receive for a header for a while.
TEST_F(transports, receives_for_headers_that_were_refused_are_posted_later) {
    transport t(comm, &to_data, &here);
    table.Irecv = &irecv;
    ASSERT_EQ(t.begin(), MPI_SUCCESS);
    t.poll();
    table.Irecv = fakes_irecv;
    t.poll();
    constexpr int messages = 40; // more than receives are posted
    for (int i = 0; i < messages; ++i) {
        MPI_Request sent = send(i);
        t.poll();
        table.Wait(&sent, MPI_STATUS_IGNORE);
        EXPECT_EQ(receive(), i);
    }
}

// A thread that waits for one message takes one at a time. More come than receives are posted.
TEST_F(transports, a_poll_takes_as_many_messages_as_it_may_in_their_order) {
    transport t(comm, &to_data, &here);
    ASSERT_EQ(t.begin(), MPI_SUCCESS);
    EXPECT_FALSE(t.poll(1));
    constexpr int messages = 3 * transport::window;
    std::vector<MPI_Request> sent;
    for (int i = 0; i < messages; ++i) {
        sent.push_back(send(i));
    }
    thence::fake::world.progress();
    for (int i = 0; i < 20; ++i) {
        EXPECT_EQ(receive(), -1);
        EXPECT_TRUE(t.poll(1));
        EXPECT_EQ(receive(), i);
        thence::fake::world.progress();
    }
    for (int i = 20; i < messages;) {
        EXPECT_TRUE(t.poll());
        thence::fake::world.progress();
        for (int got = receive(); got != -1; got = receive()) {
            ASSERT_EQ(got, i++);
        }
    }
    EXPECT_FALSE(t.poll());
    for (MPI_Request &each : sent) {
        table.Wait(&each, MPI_STATUS_IGNORE);
    }
}
