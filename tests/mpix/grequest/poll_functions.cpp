// SPDX-License-Identifier: BSD-3-Clause
// What poll functions may do, and what may be done with their requests: other calls of MPI, continuations, cancel,
// free.
#include "polled_work.hpp"

#include <vector>

namespace {

using namespace thence::fake;

class poll_functions : public on_fake {};

// MPICH aborts, or overflows its stack.
TEST_P(poll_functions, a_poll_function_may_call_mpi) {
    work w;
    MPI_Request r = world.start();
    w.inside = [&] {
        int flag = 0;
        EXPECT_EQ(MPI_Test(&r, &flag, MPI_STATUS_IGNORE), MPI_SUCCESS);
        w.ended = flag != 0;
    };
    w.start();
    int found = -1;
    EXPECT_EQ(MPI_Test(&w.request, &found, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(found, 0);
    EXPECT_LE(w.polls, 2) << "not inside itself";
    world.complete(r);
    EXPECT_EQ(MPI_Wait(&w.request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    w.expect_over();
}

TEST_P(poll_functions, a_poll_function_may_wait_for_a_message) {
    work w;
    MPI_Request r = world.start();
    world.complete_in_progress(r);
    w.inside = [&] {
        EXPECT_EQ(MPI_Wait(&r, MPI_STATUS_IGNORE), MPI_SUCCESS);
        w.ended = true;
    };
    w.start();
    EXPECT_EQ(MPI_Wait(&w.request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    w.expect_over();
}

TEST_P(poll_functions, a_poll_function_may_start_and_complete_others) {
    work first;
    std::vector<work> more(200);
    work other;
    other.start(nullptr);
    first.inside = [&] {
        for (work &each : more) {
            each.ended = true;
            each.start();
        }
        other.complete();
        first.ended = true;
    };
    first.start();
    EXPECT_EQ(MPI_Wait(&first.request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(MPI_Wait(&other.request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    for (work &each : more) {
        EXPECT_EQ(MPI_Wait(&each.request, MPI_STATUS_IGNORE), MPI_SUCCESS);
        each.expect_over();
    }
    first.expect_over();
    other.expect_over();
}

TEST_P(poll_functions, a_freed_request_is_polled_until_it_ends) {
    work w;
    w.start();
    EXPECT_EQ(MPI_Request_free(&w.request), MPI_SUCCESS);
    let_run();
    EXPECT_EQ(w.frees, 0);
    w.ended = true;
    EXPECT_TRUE(eventually([&] { return w.frees == 1; }));
    w.expect_over(0);
}

TEST_P(poll_functions, cancel_calls_the_cancel_function) {
    work w;
    w.start();
    EXPECT_EQ(MPI_Cancel(&w.request), MPI_SUCCESS);
    EXPECT_EQ(w.cancels, 1);
    EXPECT_EQ(MPI_Wait(&w.request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    w.expect_over();
}

TEST_P(poll_functions, a_continuation_runs_after_one) {
    cr c;
    note n;
    work w;
    w.tag = 9;
    w.start();
    MPI_Status status{};
    EXPECT_EQ(attach(w.request, n, c, &status), 0);
    let_run();
    EXPECT_EQ(n.runs, 0);
    w.ended = true;
    EXPECT_EQ(MPI_Wait(&c, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(n.runs, 1);
    EXPECT_EQ(status.MPI_TAG, 9);
    w.expect_over();
}

TEST_P(poll_functions, a_continuation_gets_the_error_of_the_poll_function) {
    cr c;
    note n;
    work w;
    w.answer = MPI_ERR_IO;
    w.start();
    attach(w.request, n, c);
    EXPECT_TRUE(eventually([&] { return n.runs == 1; }));
    EXPECT_EQ(n.error, MPI_ERR_IO);
    reported();
    w.expect_over();
}

TEST_P(poll_functions, a_callback_may_wait_for_one) {
    cr c;
    note n;
    work w;
    n.inside = [&] {
        w.ended = true;
        w.start();
        EXPECT_EQ(MPI_Wait(&w.request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    };
    const ticket t = attach_pending(n, c);
    world.complete(t);
    EXPECT_TRUE(eventually([&] { return n.runs == 1; }));
    w.expect_over();
}

// No callback runs inside a poll function: it might wait for what this function stands for.
TEST_P(poll_functions, no_callback_runs_in_a_poll_function) {
    cr c;
    note n;
    work w;
    bool in_poll = false;
    bool ran_inside = false;
    n.inside = [&] { ran_inside = in_poll; };
    const ticket t = attach_pending(n, c);
    w.inside = [&] {
        in_poll = true;
        world.complete(t);
        let_run();
        world.progress();
        in_poll = false;
        w.ended = true;
    };
    w.start();
    EXPECT_EQ(MPI_Wait(&w.request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_TRUE(eventually([&] { return n.runs == 1; }));
    EXPECT_FALSE(ran_inside);
    w.expect_over();
}

THENCE_RULES(poll_functions);

} // namespace
