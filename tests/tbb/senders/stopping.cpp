// SPDX-License-Identifier: BSD-3-Clause
// Stop requests: a pending operation is cancelled. It is stopped if and only if MPI was asked to cancel it and its
// status says that it was cancelled.
#include "support.hpp"

namespace {

using namespace sender_tests;

class stopping : public senders {
protected:
    ex::inplace_stop_source stop;
    ending end;
    ticket t;
};

TEST_P(stopping, a_pending_receive_is_cancelled) {
    for (const on_cancel how : {on_cancel::complete_at_once, on_cancel::complete_in_progress}) {
        world.cancelling = how;
        ex::inplace_stop_source source;
        ending e;
        auto operation = ex::connect(one(t), receiver{&e, source.get_token()});
        ex::start(operation);
        let_run();
        EXPECT_EQ(e.all(), 0);
        source.request_stop();
        EXPECT_TRUE(eventually([&] { return e.all() == 1; }));
        EXPECT_EQ(e.stops, 1);
    }
}

TEST_P(stopping, before_the_start_the_call_is_not_made) {
    stop.request_stop();
    auto operation = ex::connect(one(t), receiver{&end, stop.get_token()});
    ex::start(operation);
    EXPECT_EQ(end.stops, 1);
    EXPECT_EQ(t.q, nullptr);
}

TEST_P(stopping, an_operation_that_mpi_cannot_cancel_completes) {
    world.cancelling = on_cancel::ignore;
    for (const kind what : {kind::point_to_point, kind::collective, kind::rma}) {
        ex::inplace_stop_source source;
        ending e;
        auto operation = ex::connect(one(t, what), receiver{&e, source.get_token()});
        ex::start(operation);
        source.request_stop();
        let_run();
        EXPECT_EQ(e.all(), 0);
        world.complete(t);
        EXPECT_TRUE(eventually([&] { return e.all() == 1; }));
        EXPECT_EQ(e.values, 1);
    }
}

// Open MPI does not set that part of the status of file operations.
TEST_P(stopping, without_a_stop_request_it_is_not_stopped_whatever_its_status_says) {
    auto operation = ex::connect(one(t), receiver{&end, stop.get_token()});
    ex::start(operation);
    world.complete(t, {.cancelled = true});
    EXPECT_TRUE(eventually([&] { return end.all() == 1; }));
    EXPECT_EQ(end.values, 1);
}

TEST_P(stopping, an_operation_that_is_complete_before_the_cancel_is_not_stopped_whatever_its_status_says) {
    auto operation = ex::connect(ex::just() | thence::transform_mpi([&](MPI_Request *r) {
                                     start_one{&t}(r);
                                     world.complete(t, {.cancelled = true});
                                     stop.request_stop();
                                 }),
                                 receiver{&end, stop.get_token()});
    ex::start(operation);
    EXPECT_TRUE(eventually([&] { return end.all() == 1; }));
    EXPECT_EQ(end.values, 1);
}

TEST_P(stopping, the_token_says_that_stop_was_requested_too_late) {
    world.cancelling = on_cancel::ignore;
    bool asked = false;
    auto operation = ex::connect(one(t) | ex::let_value([] { return ex::read_env(ex::get_stop_token); }) |
                                     ex::then([&](auto token) { asked = token.stop_requested(); }),
                                 receiver{&end, stop.get_token()});
    ex::start(operation);
    stop.request_stop();
    world.complete(t);
    EXPECT_TRUE(eventually([&] { return end.values == 1; }));
    EXPECT_TRUE(asked);
}

TEST_P(stopping, an_uncancellable_operation_is_not_cancelled) {
    auto operation = ex::connect(ex::just() | thence::transform_mpi(start_one{&t}, thence::uncancellable),
                                 receiver{&end, stop.get_token()});
    ex::start(operation);
    stop.request_stop();
    let_run();
    EXPECT_EQ(end.all(), 0);
    EXPECT_EQ(world.cancel_calls, 0U);
    world.complete(t);
    EXPECT_TRUE(eventually([&] { return end.values == 1; }));
}

TEST_P(stopping, an_error_has_precedence_over_a_stop_request) {
    world.cancelling = on_cancel::ignore;
    auto operation = ex::connect(one(t), receiver{&end, stop.get_token()});
    ex::start(operation);
    stop.request_stop();
    world.complete(t, {.error = MPI_ERR_TRUNCATE});
    EXPECT_TRUE(eventually([&] { return end.all() == 1; }));
    EXPECT_EQ(end.completion_error(), MPI_ERR_TRUNCATE);
    reported();
}

TEST_P(stopping, a_stop_request_cancels_only_its_own_operation) {
    ticket u;
    ending other;
    ex::inplace_stop_source others;
    auto operation = ex::connect(one(t), receiver{&end, stop.get_token()});
    auto second = ex::connect(one(u), receiver{&other, others.get_token()});
    ex::start(operation);
    ex::start(second);
    stop.request_stop();
    EXPECT_TRUE(eventually([&] { return end.stops == 1; }));
    let_run();
    EXPECT_EQ(other.all(), 0);
    EXPECT_EQ(world.cancel_calls, 1U);
    world.complete(u);
    EXPECT_TRUE(eventually([&] { return other.values == 1; }));
}

TEST_P(stopping, a_late_stop_request_does_not_cancel_the_next_operation) {
    {
        auto operation = ex::connect(one(t), receiver{&end, stop.get_token()});
        ex::start(operation);
        world.complete(t);
        EXPECT_TRUE(eventually([&] { return end.values == 1; }));
    }
    ending next;
    ex::inplace_stop_source other;
    auto operation = ex::connect(one(t), receiver{&next, other.get_token()}); // uses the same continuation request
    ex::start(operation);
    stop.request_stop();
    let_run();
    EXPECT_EQ(next.all(), 0);
    EXPECT_EQ(world.cancel_calls, 0U);
    world.complete(t);
    EXPECT_TRUE(eventually([&] { return next.values == 1; }));
}

TEST_P(stopping, a_stop_request_during_the_call_cancels_its_operation) {
    auto operation = ex::connect(ex::just() | thence::transform_mpi([&](MPI_Request *r) {
                                     stop.request_stop();
                                     return start_one{&t}(r);
                                 }),
                                 receiver{&end, stop.get_token()});
    ex::start(operation);
    EXPECT_TRUE(eventually([&] { return end.all() == 1; }));
    EXPECT_EQ(end.stops, 1);
}

TEST_P(stopping, a_failed_call_completes_once) {
    auto operation = ex::connect(ex::just() | thence::transform_mpi([](MPI_Request *) { return MPI_ERR_RANK; }),
                                 receiver{&end, stop.get_token()});
    ex::start(operation);
    stop.request_stop();
    EXPECT_EQ(end.all(), 1);
    EXPECT_EQ(end.call_error(), MPI_ERR_RANK);
}

TEST_P(stopping, an_operation_complete_at_once_is_not_stopped) {
    auto operation = ex::connect(ex::just() | thence::transform_mpi([&](MPI_Request *r) {
                                     start_one{&t}(r);
                                     world.complete(t);
                                     stop.request_stop();
                                 }),
                                 receiver{&end, stop.get_token()});
    ex::start(operation);
    EXPECT_TRUE(eventually([&] { return end.all() == 1; }));
    EXPECT_EQ(end.values, 1);
}

TEST_P(stopping, a_completion_may_stop_another_operation) {
    ticket u;
    ending other;
    ending first;
    auto waiting = ex::connect(one(t), receiver{&other, stop.get_token()});
    first.inside = [&] { stop.request_stop(); };
    auto operation = ex::connect(one(u), receiver{&first});
    ex::start(waiting);
    ex::start(operation);
    world.complete(u);
    EXPECT_TRUE(eventually([&] { return other.all() == 1; }));
    EXPECT_EQ(other.stops, 1);
}

TEST_P(stopping, the_first_failure_of_when_all_cancels_the_others) {
    ticket u;
    auto operation = ex::connect(ex::when_all(one(t), one(u)), receiver{&end});
    ex::start(operation);
    world.complete(u, {.error = MPI_ERR_TRUNCATE});
    EXPECT_TRUE(eventually([&] { return end.all() == 1; }));
    EXPECT_EQ(end.completion_error(), MPI_ERR_TRUNCATE);
    reported();
}

THENCE_RULES(stopping);

} // namespace
