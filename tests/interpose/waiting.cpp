// SPDX-License-Identifier: BSD-3-Clause
// Strategies decide how a blocking call waits. One that was added is asked first. If it applies, it waits in place of
// MPI.
#include "library.hpp"

#include "core/mpi/calls.hpp"
#include "interpose/waiting/wait_strategy.hpp"

namespace {

using namespace thence::fake;
using thence::interpose::wait_strategy;

struct {
    bool applies = false;
    int completed = 0;
    int pauses = 0;
    std::vector<ticket> later; // completed one at a time, at each pause
} added;

void complete_next() {
    if (!added.later.empty()) {
        world.complete(added.later.front());
        added.later.erase(added.later.begin());
    }
}
bool applies() noexcept {
    return added.applies;
}
int complete(MPI_Request *request, MPI_Status *status, const void *) noexcept {
    ++added.completed;
    complete_next();
    int flag = 0;
    return thence::mpi::table.Test(request, &flag, status);
}
void pause(thence::interpose::polling_call &) noexcept {
    ++added.pauses;
    complete_next();
}
const wait_strategy the_strategy{"a test's", &applies, &complete, &pause};

class waiting : public on_fake {
protected:
    waiting() {
        added = {};
        EXPECT_TRUE(thence::interpose::add_strategy(the_strategy));
    }
    ~waiting() override { thence::interpose::remove_strategy(the_strategy); }
    static MPI_Request pending() {
        MPI_Request r = world.start();
        added.later.push_back(world.ticket_of(r));
        return r;
    }
};

TEST_P(waiting, for_one_request_is_left_to_the_strategy_that_applies) {
    added.applies = true;
    MPI_Request r = pending();
    EXPECT_EQ(MPI_Wait(&r, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(r, MPI_REQUEST_NULL);
    EXPECT_EQ(added.completed, 1);
}

TEST_P(waiting, for_one_continuation_request_pauses_as_the_strategy_says) {
    added.applies = true;
    cr c;
    note n;
    MPI_Request attached = pending();
    ASSERT_EQ(attach(attached, n, c), 0);
    EXPECT_EQ(MPI_Wait(&c, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(n.runs, 1);
    EXPECT_GE(added.pauses, 1);
}

TEST_P(waiting, for_several_pauses_as_the_strategy_says) {
    added.applies = true;
    cr c;
    note n;
    MPI_Request attached = pending();
    ASSERT_EQ(attach(attached, n, c), 0);
    MPI_Request both[] = {c, pending()};
    EXPECT_EQ(MPI_Waitall(2, both, MPI_STATUSES_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(n.runs, 1);
    EXPECT_EQ(both[1], MPI_REQUEST_NULL);
    EXPECT_GE(added.pauses, 1);
}

TEST_P(waiting, is_not_left_to_a_strategy_that_does_not_apply) {
    MPI_Request r = world.start();
    world.complete(r);
    EXPECT_EQ(MPI_Wait(&r, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(added.completed + added.pauses, 0);
}

TEST_P(waiting, is_done_by_mpi_after_the_strategy_is_removed) {
    added.applies = true;
    thence::interpose::remove_strategy(the_strategy);
    MPI_Request r = world.start();
    world.complete(r);
    EXPECT_EQ(MPI_Wait(&r, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(added.completed, 0);
    EXPECT_TRUE(thence::interpose::add_strategy(the_strategy));
}

THENCE_RULES(waiting);

} // namespace
