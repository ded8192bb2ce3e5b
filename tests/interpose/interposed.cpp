// SPDX-License-Identifier: BSD-3-Clause
// MPI_Test, MPI_Wait, MPI_Start and other calls on one continuation request. Arrays: interposed_arrays.cpp.
#include "library.hpp"

#include <thence/mpix_continue.h>

namespace {

using namespace thence::fake;

class interposed : public on_fake {};

TEST_P(interposed, test_wait_and_free_take_crs) {
    MPI_Request c = MPI_REQUEST_NULL;
    ASSERT_EQ(MPIX_Continue_init(&c, MPI_INFO_NULL), MPI_SUCCESS);
    note n;
    const ticket t = attach_pending(n, c);
    int flag = -1;
    EXPECT_EQ(MPI_Test(&c, &flag, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(flag, 0);
    EXPECT_EQ(MPI_Request_get_status(c, &flag, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(flag, 0);
    world.complete(t);
    MPI_Status status{};
    EXPECT_EQ(MPI_Wait(&c, &status), MPI_SUCCESS);
    EXPECT_EQ(status.MPI_SOURCE, MPI_ANY_SOURCE);
    EXPECT_EQ(n.runs, 1);
    EXPECT_EQ(MPI_Request_get_status(c, &flag, &status), MPI_SUCCESS);
    EXPECT_EQ(flag, 1);
    EXPECT_NE(c, MPI_REQUEST_NULL);
    EXPECT_EQ(MPI_Request_free(&c), MPI_SUCCESS);
    EXPECT_EQ(c, MPI_REQUEST_NULL);
}

TEST_P(interposed, ordinary_requests_complete_as_without_the_library) {
    MPI_Request r = world.start();
    int flag = -1;
    EXPECT_EQ(MPI_Test(&r, &flag, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(flag, 0);
    world.complete(r, {4});
    MPI_Status status{};
    EXPECT_EQ(MPI_Wait(&r, &status), MPI_SUCCESS);
    EXPECT_EQ(status.MPI_SOURCE, 4);
    EXPECT_EQ(r, MPI_REQUEST_NULL);
    EXPECT_EQ(MPI_Wait(&r, &status), MPI_SUCCESS);
    EXPECT_EQ(status.MPI_SOURCE, MPI_ANY_SOURCE);
}

TEST_P(interposed, start_and_cancel_take_crs) {
    cr c(THENCE_CR_NEEDS_START);
    MPI_Request handles[] = {c};
    EXPECT_EQ(MPI_Startall(1, handles), MPI_SUCCESS);
    EXPECT_EQ(MPI_Start(&handles[0]), MPI_ERR_REQUEST);
    note n;
    MPI_Request r = world.start();
    MPI_Status status{};
    attach(r, n, c, &status);
    EXPECT_EQ(MPI_Cancel(&handles[0]), MPI_SUCCESS);
    EXPECT_EQ(MPI_Wait(&handles[0], MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_TRUE(mpi::is_cancelled(status));
    reported();
}

TEST_P(interposed, a_blocked_wait_runs_continuations_with_or_without_a_hook) {
    cr c;
    note n;
    const ticket t = attach_pending(n, c);
    MPI_Request r = world.start();
    const ticket own = world.ticket_of(r);
    n.inside = [&] { world.complete(own); }; // the wait ends only if the callback runs inside it
    world.complete(t);
    EXPECT_EQ(MPI_Wait(&r, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(n.runs, 1);
}

TEST_P(interposed, a_callback_may_wait_for_ordinary_requests) {
    cr c;
    note n;
    n.inside = [&] {
        MPI_Request r = world.start();
        world.complete_in_progress(r);
        EXPECT_EQ(MPI_Wait(&r, MPI_STATUS_IGNORE), MPI_SUCCESS);
    };
    world.complete(attach_pending(n, c));
    EXPECT_TRUE(eventually([&] { return n.runs == 1; }));
}

TEST_P(interposed, calls_of_the_paper) {
    static int calls;
    calls = 0;
    MPI_Request c = MPI_REQUEST_NULL;
    ASSERT_EQ(MPIX_Continue_init(&c, MPI_INFO_NULL), MPI_SUCCESS);
    const auto callback = [](MPI_Status *statuses, void *data) {
        ++calls;
        EXPECT_EQ(statuses, data);
        EXPECT_EQ(statuses[0].MPI_SOURCE, 1);
    };
    MPI_Status statuses[2];
    MPI_Request one = world.start();
    const ticket a = world.ticket_of(one);
    int flag = -1;
    EXPECT_EQ(MPIX_Continue(&one, &flag, callback, statuses, statuses, c), MPI_SUCCESS);
    EXPECT_EQ(flag, 0);
    world.complete(a, {1});
    EXPECT_EQ(MPI_Wait(&c, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(calls, 1);
    MPI_Request two[] = {world.start(), world.start()};
    const ticket b[] = {world.ticket_of(two[0]), world.ticket_of(two[1])};
    EXPECT_EQ(MPIX_Continueall(2, two, &flag, callback, statuses, statuses, c), MPI_SUCCESS);
    world.complete(b[1], {2});
    world.complete(b[0], {1});
    EXPECT_EQ(MPI_Wait(&c, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(calls, 2);
    MPI_Request_free(&c);
}

THENCE_RULES(interposed);

} // namespace
