// SPDX-License-Identifier: BSD-3-Clause
// Cancelled operations run their continuations, once, whatever the race with completion.
#include "library.hpp"

namespace {

using namespace thence::fake;

class cancelling : public on_fake {};

TEST_P(cancelling, cancelled_operation_runs_its_continuation) {
    for (const on_cancel how : {on_cancel::complete_at_once, on_cancel::complete_in_progress}) {
        world.cancelling = how;
        cr c;
        note n;
        MPI_Status status{};
        MPI_Request r = world.start();
        attach(r, n, c, &status);
        EXPECT_EQ(thence_cancel(&c), MPI_SUCCESS);
        EXPECT_EQ(n.runs, 0) << "not inside the cancelling call";
        EXPECT_EQ(thence_wait(&c, MPI_STATUS_IGNORE), MPI_SUCCESS);
        EXPECT_EQ(n.runs, 1);
        EXPECT_TRUE(mpi::is_cancelled(status));
        EXPECT_EQ(n.error, MPI_SUCCESS);
    }
}

TEST_P(cancelling, an_operation_that_cannot_be_cancelled_completes_as_usual) {
    world.cancelling = on_cancel::ignore;
    cr c;
    note n;
    MPI_Status status{};
    const ticket t = attach_pending(n, c, &status);
    EXPECT_EQ(thence_cancel(&c), MPI_SUCCESS);
    let_run();
    EXPECT_EQ(n.runs, 0);
    world.complete(t, {4});
    EXPECT_TRUE(eventually([&] { return n.runs == 1; }));
    EXPECT_FALSE(mpi::is_cancelled(status));
    EXPECT_EQ(status.MPI_SOURCE, 4);
}

TEST_P(cancelling, operations_that_cannot_be_cancelled_call_no_error_handler) {
    cr c;
    note n;
    MPI_Status statuses[3];
    std::vector<MPI_Request> group{world.start(kind::collective), world.start(), world.start(kind::rma)};
    const ticket collective = world.ticket_of(group[0]);
    const ticket rma = world.ticket_of(group[2]);
    attach(group, n, c, statuses);
    EXPECT_EQ(thence_cancel(&c), MPI_SUCCESS);
    EXPECT_EQ(reported(), codes{}) << "by default it would have ended the program";
    EXPECT_EQ(world.handler.load(), MPI_ERRORS_ARE_FATAL) << "the error handler is the user's again";
    let_run();
    EXPECT_EQ(n.runs, 0);
    world.complete(collective);
    world.complete(rma);
    EXPECT_TRUE(eventually([&] { return n.runs == 1; }));
    EXPECT_EQ(n.error, MPI_SUCCESS);
    EXPECT_FALSE(mpi::is_cancelled(statuses[0]));
    EXPECT_TRUE(mpi::is_cancelled(statuses[1]));
    EXPECT_FALSE(mpi::is_cancelled(statuses[2]));
}

TEST_P(cancelling, persistent_collectives_are_not_cancelled) {
    cr c;
    note n;
    MPI_Request r = world.persistent(kind::collective);
    thence::mpi::table.Start(&r);
    attach(r, n, c, MPI_STATUS_IGNORE, THENCE_PERSISTENT);
    EXPECT_EQ(thence_cancel(&c), MPI_SUCCESS);
    EXPECT_EQ(world.cancel_calls, 0U);
    world.complete(r);
    EXPECT_TRUE(eventually([&] { return n.runs == 1; }));
    thence::mpi::table.Request_free(&r);
}

TEST_P(cancelling, persistent_receives_are_cancelled) {
    cr c;
    note n;
    MPI_Status status{};
    MPI_Request r = MPI_REQUEST_NULL;
    MPI_Recv_init(nullptr, 0, MPI_CHAR, 0, 0, MPI_COMM_SELF, &r);
    MPI_Start(&r);
    attach(r, n, c, &status);
    EXPECT_EQ(thence_cancel(&c), MPI_SUCCESS);
    EXPECT_TRUE(eventually([&] { return n.runs == 1; }));
    EXPECT_TRUE(mpi::is_cancelled(status));
    MPI_Request_free(&r);
}

TEST_P(cancelling, only_the_operations_of_this_cr_are_cancelled) {
    cr c;
    cr other;
    note n;
    note m;
    MPI_Request r = world.start();
    MPI_Request q = world.start();
    const ticket t = world.ticket_of(q);
    attach(r, n, c);
    attach(q, m, other);
    EXPECT_EQ(thence_cancel(&c), MPI_SUCCESS);
    EXPECT_TRUE(eventually([&] { return n.runs == 1; }));
    EXPECT_EQ(m.runs, 0);
    EXPECT_EQ(world.cancel_calls, 1U);
    world.complete(t);
    EXPECT_TRUE(eventually([&] { return m.runs == 1; }));
}

TEST_P(cancelling, complete_operations_of_a_group_are_not_cancelled) {
    cr c;
    note n;
    std::vector<MPI_Request> group{world.start(), world.start(), world.start()};
    const ticket done = world.ticket_of(group[1]);
    MPI_Status statuses[3];
    attach(group, n, c, statuses);
    world.complete(done, {6});
    let_run();
    EXPECT_EQ(thence_cancel(&c), MPI_SUCCESS);
    EXPECT_TRUE(eventually([&] { return n.runs == 1; }));
    EXPECT_TRUE(mpi::is_cancelled(statuses[0]));
    EXPECT_FALSE(mpi::is_cancelled(statuses[1]));
    EXPECT_EQ(statuses[1].MPI_SOURCE, 6);
    EXPECT_TRUE(mpi::is_cancelled(statuses[2]));
}

TEST_P(cancelling, a_cr_without_continuations_cancels_nothing) {
    cr c;
    EXPECT_EQ(thence_cancel(&c), MPI_SUCCESS);
    EXPECT_EQ(world.cancel_calls, 0U);
}

TEST_P(cancelling, a_callback_may_cancel_its_own_cr) {
    cr c;
    note n;
    note rest;
    n.inside = [&] { EXPECT_EQ(thence_cancel(&c), MPI_SUCCESS); };
    MPI_Request pending = world.start();
    attach(pending, rest, c);
    const ticket t = attach_pending(n, c);
    world.complete(t);
    EXPECT_EQ(thence_wait(&c, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(n.runs, 1);
    EXPECT_EQ(rest.runs, 1);
}

TEST_P(cancelling, a_chained_cr_is_not_cancelled_through_another) {
    cr inner;
    cr outer;
    note n;
    note all;
    const ticket t = attach_pending(n, inner);
    MPI_Request handle = inner;
    attach(handle, all, outer);
    EXPECT_EQ(thence_cancel(&outer), MPI_SUCCESS);
    let_run();
    EXPECT_EQ(n.runs + all.runs, 0);
    EXPECT_EQ(world.cancel_calls, 0U);
    world.complete(t);
    EXPECT_TRUE(eventually([&] { return all.runs == 1; }));
}

TEST_P(cancelling, cancelling_and_completing_at_once_runs_it_once) {
    for (int round = 0; round < 300; ++round) {
        cr c;
        note n;
        const ticket t = attach_pending(n, c);
        std::thread completer([&] { world.complete(t); });
        EXPECT_EQ(thence_cancel(&c), MPI_SUCCESS);
        EXPECT_EQ(thence_wait(&c, MPI_STATUS_IGNORE), MPI_SUCCESS);
        completer.join();
        EXPECT_EQ(n.runs, 1);
    }
}

THENCE_RULES(cancelling);

} // namespace
