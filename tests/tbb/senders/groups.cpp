// SPDX-License-Identifier: BSD-3-Clause
// A group of requests that one call starts: the sender completes once, after all of them.
#include "support.hpp"

namespace {

using namespace sender_tests;

class group : public senders {
protected:
    // A call that starts three operations of these kinds, and then succeeds or fails.
    auto three(int code = MPI_SUCCESS) {
        return [this, code](thence::requests<3> r) {
            for (std::size_t i = 0; i < (code == MPI_SUCCESS ? 3U : 2U); ++i) {
                start_one{&tickets[i], kinds[i]}(&r[i]);
            }
            return code;
        };
    }
    /** A letter for each operation of a thence::partly_stopped: c if it was cancelled. */
    static std::string cancelled_of(const ending &end) {
        std::string letters;
        if (end.errors != 1) {
            return "no error";
        }
        try {
            std::rethrow_exception(end.error);
        } catch (const thence::partly_stopped &error) {
            for (const MPI_Status &status : error.statuses()) {
                letters += world.is_cancelled(status) ? 'c' : '.';
                EXPECT_EQ(status.MPI_ERROR, MPI_SUCCESS);
            }
        } catch (...) {
            letters = "another error";
        }
        return letters;
    }
    ticket tickets[3];
    kind kinds[3] = {kind::point_to_point, kind::point_to_point, kind::point_to_point};
};

TEST_P(group, completes_once_after_all) {
    ending end;
    auto operation = ex::connect(ex::just() | thence::transform_mpi(three()), receiver{&end});
    ex::start(operation);
    for (const int i : {2, 0}) {
        world.complete(tickets[i]);
        let_run();
        EXPECT_EQ(end.all(), 0);
    }
    world.complete(tickets[1]);
    EXPECT_TRUE(eventually([&] { return end.all() == 1; }));
    EXPECT_EQ(end.values, 1);
}

TEST_P(group, sends_all_statuses) {
    ending end;
    std::array<MPI_Status, 3> seen{};
    auto operation = ex::connect(ex::just() | thence::transform_mpi(three(), thence::with_status) |
                                     ex::then([&](const std::array<MPI_Status, 3> &all) { seen = all; }),
                                 receiver{&end});
    ex::start(operation);
    for (int i = 0; i < 3; ++i) {
        world.complete(tickets[i], {10 + i});
    }
    EXPECT_TRUE(eventually([&] { return end.values == 1; }));
    EXPECT_EQ(seen[2].MPI_SOURCE, 12);
}

TEST_P(group, one_failure_is_its_error_after_all_are_complete) {
    ending end;
    auto operation = ex::connect(ex::just() | thence::transform_mpi(three()), receiver{&end});
    ex::start(operation);
    world.complete(tickets[1], {.error = MPI_ERR_TRUNCATE});
    let_run();
    EXPECT_EQ(end.all(), 0);
    world.complete(tickets[0]);
    world.complete(tickets[2]);
    EXPECT_TRUE(eventually([&] { return end.all() == 1; }));
    EXPECT_EQ(end.completion_error(), MPI_ERR_TRUNCATE);
    reported();
}

TEST_P(group, a_failure_among_complete_operations_is_its_error) {
    ending end;
    auto operation = ex::connect(ex::just() | thence::transform_mpi([&](thence::requests<3> r) {
                                     three()(r);
                                     world.complete(tickets[0]);
                                     world.complete(tickets[1], {.error = MPI_ERR_TRUNCATE});
                                     world.complete(tickets[2]);
                                 }),
                                 receiver{&end});
    ex::start(operation);
    EXPECT_TRUE(eventually([&] { return end.all() == 1; }));
    EXPECT_EQ(end.completion_error(), MPI_ERR_TRUNCATE);
    reported();
}

TEST_P(group, a_call_that_fails_completes_once_after_the_operations_that_it_started) {
    for (const on_cancel how : {on_cancel::complete_at_once, on_cancel::complete_in_progress}) {
        world.cancelling = how;
        kinds[1] = kind::collective; // cannot be cancelled
        ending end;
        auto operation = ex::connect(ex::just() | thence::transform_mpi(three(MPI_ERR_COUNT)), receiver{&end});
        ex::start(operation);
        let_run();
        EXPECT_EQ(end.all(), 0) << "the collective still uses its buffers";
        world.complete(tickets[1]);
        EXPECT_TRUE(eventually([&] { return end.all() == 1; }));
        EXPECT_EQ(end.call_error(), MPI_ERR_COUNT);
    }
}

TEST_P(group, a_call_that_fails_before_it_starts_any_operation_completes_at_once) {
    ending end;
    auto operation = ex::connect(ex::just() | thence::transform_mpi([](thence::requests<3>) { return MPI_ERR_COUNT; }),
                                 receiver{&end});
    ex::start(operation);
    EXPECT_EQ(end.errors, 1);
}

TEST_P(group, a_generic_callable_can_start_a_group) {
    ending end;
    auto operation = ex::connect(
        ex::just(1, 2) | thence::transform_mpi([&](auto &, auto &, thence::requests<3> r) { return three()(r); }),
        receiver{&end});
    ex::start(operation);
    for (const ticket &t : tickets) {
        world.complete(t);
    }
    EXPECT_TRUE(eventually([&] { return end.values == 1; }));
}

TEST_P(group, a_stop_request_cancels_all_that_can_be_cancelled) {
    ending end;
    ex::inplace_stop_source stop;
    kinds[1] = kind::collective;
    auto operation = ex::connect(ex::just() | thence::transform_mpi(three()), receiver{&end, stop.get_token()});
    ex::start(operation);
    stop.request_stop();
    let_run();
    EXPECT_EQ(end.all(), 0);
    world.complete(tickets[1]);
    EXPECT_TRUE(eventually([&] { return end.all() == 1; }));
    EXPECT_EQ(cancelled_of(end), "c.c") << "the collective is complete";
}

TEST_P(group, is_stopped_if_all_operations_that_it_started_were_cancelled) {
    ending end;
    ex::inplace_stop_source stop;
    auto operation = ex::connect(ex::just() | thence::transform_mpi([&](thence::requests<3> r) {
                                     start_one{&tickets[0]}(&r[0]); // the others stay null
                                 }),
                                 receiver{&end, stop.get_token()});
    ex::start(operation);
    stop.request_stop();
    EXPECT_TRUE(eventually([&] { return end.all() == 1; }));
    EXPECT_EQ(end.stops, 1);
}

TEST_P(group, a_message_that_arrived_before_the_stop_request_is_not_lost) {
    for (const on_cancel how : {on_cancel::complete_at_once, on_cancel::complete_in_progress}) {
        world.cancelling = how;
        ending end;
        ex::inplace_stop_source stop;
        auto operation = ex::connect(ex::just() | thence::transform_mpi(three()), receiver{&end, stop.get_token()});
        ex::start(operation);
        world.complete(tickets[1], {.source = 4});
        let_run();
        stop.request_stop();
        EXPECT_TRUE(eventually([&] { return end.all() == 1; }));
        EXPECT_EQ(cancelled_of(end), "c.c");
    }
}

TEST_P(group, that_was_complete_before_the_stop_request_is_not_stopped) {
    world.cancelling = on_cancel::ignore;
    ending end;
    ex::inplace_stop_source stop;
    auto operation = ex::connect(ex::just() | thence::transform_mpi(three()), receiver{&end, stop.get_token()});
    ex::start(operation);
    stop.request_stop();
    for (const ticket &t : tickets) {
        world.complete(t);
    }
    EXPECT_TRUE(eventually([&] { return end.all() == 1; }));
    EXPECT_EQ(end.values, 1);
}

TEST_P(group, the_error_of_a_failed_call_has_the_statuses_of_its_operations) {
    ending end;
    auto operation = ex::connect(ex::just() | thence::transform_mpi([&](thence::requests<3> r) {
                                     three(MPI_ERR_COUNT)(r);
                                     world.complete(tickets[1], {.source = 4});
                                     return MPI_ERR_COUNT;
                                 }),
                                 receiver{&end});
    ex::start(operation);
    EXPECT_TRUE(eventually([&] { return end.all() == 1; }));
    EXPECT_EQ(end.call_error(), MPI_ERR_COUNT);
    try {
        std::rethrow_exception(end.error);
    } catch (const thence::mpi_error &error) {
        ASSERT_EQ(error.statuses().size(), 3U);
        EXPECT_TRUE(world.is_cancelled(error.statuses()[0]));
        EXPECT_FALSE(world.is_cancelled(error.statuses()[1]));
        EXPECT_EQ(error.statuses()[1].MPI_SOURCE, 4);
    }
}

THENCE_RULES(group);

} // namespace
