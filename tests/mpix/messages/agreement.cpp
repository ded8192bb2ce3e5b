// SPDX-License-Identifier: BSD-3-Clause
// Communicators that one process cannot make: it takes part in what the others do, and none has the communicator. And
// messages that come before a process has made its copy of a communicator.
#include "mpix/streams/multiplex.hpp"
#include "mpix/threadcomm/create.hpp"

#include "core/mpi/calls.hpp"
#include "fake_mpi.hpp"

#include <gtest/gtest.h>

namespace {

using thence::mpi::table;

int dups = 0;
int splits = 0;
int frees = 0;
int agreements = 0;
int mine = 0;             // what this process has said last
bool dup_fails = false;   // here
bool other_fails = false; // in another process, in the last agreement
int last_agreement = 0;

int dup(MPI_Comm, MPI_Comm *copy) {
    ++dups;
    if (dup_fails) {
        return MPI_ERR_INTERN;
    }
    *copy = thence::fake::world.new_communicator();
    return MPI_SUCCESS;
}
int split(MPI_Comm, int, int, MPI_Comm *part) {
    ++splits;
    *part = thence::fake::world.new_communicator();
    return MPI_SUCCESS;
}
int free_one(MPI_Comm *comm) {
    ++frees;
    *comm = MPI_COMM_NULL;
    return MPI_SUCCESS;
}
int agree(const void *in, void *out, int, MPI_Datatype, MPI_Op, MPI_Comm) {
    ++agreements;
    mine = *static_cast<const int *>(in);
    *static_cast<int *>(out) = other_fails && agreements == last_agreement ? 1 : mine;
    return MPI_SUCCESS;
}
int gather(const void *in, int, MPI_Datatype, void *out, int, MPI_Datatype, MPI_Comm) {
    *static_cast<int *>(out) = *static_cast<const int *>(in);
    return MPI_SUCCESS;
}
int one_process(MPI_Comm, int *size) {
    *size = 1;
    return MPI_SUCCESS;
}
int no_attribute(MPI_Comm, int, void *, int *flag) {
    *flag = 0;
    return MPI_SUCCESS;
}
int no_intercommunicator(MPI_Comm, int *flag) {
    *flag = 0;
    return MPI_SUCCESS;
}

class agreement : public ::testing::Test {
protected:
    agreement() {
        thence::fake::world.begin({});
        thence::fake::world.handler = MPI_ERRORS_RETURN;
        table.Comm_dup = &dup;
        table.Comm_split = &split;
        table.Comm_free = &free_one;
        table.Comm_size = &one_process;
        table.Comm_test_inter = &no_intercommunicator;
        table.Allgather = &gather;
        table.Allreduce = &agree;
        table.Comm_get_attr = &no_attribute;
        dups = splits = frees = agreements = mine = 0;
        dup_fails = other_fails = false;
    }
    ~agreement() override {
        thence::fake::world.take_reported();
        thence::fake::world.end();
    }
};

} // namespace

TEST_F(agreement, a_process_that_cannot_make_a_thread_communicator_says_so) {
    dup_fails = true;
    MPI_Comm made = MPI_COMM_NULL;
    EXPECT_NE(thence::threadcomm::init("init", MPI_COMM_WORLD, 2, &made), MPI_SUCCESS);
    EXPECT_EQ(made, MPI_COMM_NULL);
    EXPECT_EQ(splits, 1) << "the others wait for it there";
    EXPECT_EQ(agreements, 2);
    EXPECT_EQ(mine, 1);
    EXPECT_EQ(frees, 1) << "what was split";
    EXPECT_FALSE(thence::threadcomm::any_alive());
}

TEST_F(agreement, a_thread_communicator_that_another_process_cannot_make_is_freed) {
    other_fails = true;
    for (last_agreement = 1; last_agreement <= 2; ++last_agreement) {
        agreements = dups = splits = frees = 0;
        MPI_Comm made = MPI_COMM_NULL;
        EXPECT_NE(thence::threadcomm::init("init", MPI_COMM_WORLD, 2, &made), MPI_SUCCESS);
        EXPECT_EQ(made, MPI_COMM_NULL);
        EXPECT_EQ(agreements, last_agreement);
        EXPECT_EQ(frees, dups + splits);
        EXPECT_FALSE(thence::threadcomm::any_alive());
    }
}

TEST_F(agreement, a_process_that_cannot_make_a_multiplex_communicator_says_so) {
    dup_fails = true;
    MPI_Comm made = MPI_COMM_NULL;
    EXPECT_NE(thence::streams::create_multiplex("create", MPI_COMM_WORLD, 0, nullptr, &made), MPI_SUCCESS);
    EXPECT_EQ(made, MPI_COMM_NULL);
    EXPECT_EQ(agreements, 2);
    EXPECT_EQ(mine, 1);
    EXPECT_EQ(frees, 0);
}

TEST_F(agreement, a_multiplex_communicator_that_another_process_cannot_make_is_freed) {
    other_fails = true;
    last_agreement = 2;
    MPI_Comm made = MPI_COMM_NULL;
    EXPECT_NE(thence::streams::create_multiplex("create", MPI_COMM_WORLD, 0, nullptr, &made), MPI_SUCCESS);
    EXPECT_EQ(made, MPI_COMM_NULL);
    EXPECT_EQ(agreements, 2);
    EXPECT_EQ(mine, 0);
    EXPECT_EQ(frees, 1);
}

// The other process has made the copy first, and has sent on it.
TEST_F(agreement, a_message_may_come_before_the_copy_of_a_multiplex_communicator) {
    thence::streams::group other_side;
    thence::streams::group this_side;
    for (thence::streams::group *each : {&other_side, &this_side}) {
        each->streams.assign(2, nullptr);
        ASSERT_NE(each->add(0), nullptr);
    }
    EXPECT_EQ(this_side.add(0), nullptr) << "another has the context";
    const std::uint64_t first = other_side.copy(*other_side.add(1))->context;
    thence::messages::endpoint *const at = this_side.find(first, 1);
    ASSERT_NE(at, nullptr);
    EXPECT_EQ(this_side.find(first, 2), nullptr);
    thence::messages::p2p_operation unused;
    const int sent = 7;
    unused.data = thence::messages::bytes_at(&sent, sizeof sent);
    EXPECT_TRUE(send_local(*at, unused, 0, 0, 3, false));
    const thence::streams::multiplex *const copy = this_side.copy(*this_side.add(1));
    ASSERT_NE(copy, nullptr);
    EXPECT_EQ(copy->context, first);
    int got = -1;
    thence::messages::p2p_operation received;
    received.data = thence::messages::bytes_at(&got, sizeof got);
    received.wanted = {0, 0, 3};
    copy->endpoints[1].post(received);
    EXPECT_TRUE(received.done);
    EXPECT_EQ(got, sent);
    // What came for a communicator that nobody has does not keep the group.
    ASSERT_NE(this_side.find(12345, 0), nullptr);
    this_side.mark_all_freed();
    EXPECT_TRUE(this_side.try_end());
    other_side.mark_all_freed();
    EXPECT_TRUE(other_side.try_end());
}
