// SPDX-License-Identifier: BSD-3-Clause
// Failed operations, failed callbacks, and the Forum's interface, which keeps failed continuations.
#include "library.hpp"

#include <thence/mpix_continue_forum.h>

#include <algorithm>
#include <array>

namespace {

using namespace thence::fake;

class failures : public on_fake {
protected:
    result failing(int error) { return {0, 0, 0, error, false}; }
    // The errors that failed operations give to the error handler of their communicator.
    static void expect_reported(int error) {
        const codes seen = reported();
        ASSERT_FALSE(seen.empty());
        EXPECT_EQ(seen, codes(seen.size(), error));
    }
};

TEST_P(failures, errors_in_status) {
    cr c;
    note n;
    MPI_Status status{};
    const ticket t = attach_pending(n, c, &status);
    world.complete(t, failing(MPI_ERR_TRUNCATE));
    EXPECT_TRUE(eventually([&] { return n.runs == 1; }));
    EXPECT_EQ(n.error, MPI_ERR_TRUNCATE);
    EXPECT_EQ(status.MPI_ERROR, MPI_ERR_TRUNCATE);
    EXPECT_TRUE(c.test());
    expect_reported(MPI_ERR_TRUNCATE);
}

TEST_P(failures, a_failed_test_that_sets_flag_to_zero_still_completes) {
    world.failed_test_clears_flag = true;
    cr c;
    note n;
    MPI_Status status{};
    const ticket t = attach_pending(n, c, &status);
    world.complete(t, failing(MPI_ERR_OTHER));
    EXPECT_TRUE(eventually([&] { return n.runs == 1; }));
    EXPECT_EQ(status.MPI_ERROR, MPI_ERR_OTHER);
    expect_reported(MPI_ERR_OTHER);
}

TEST_P(failures, the_error_of_a_group_is_its_first_and_each_status_has_its_own) {
    cr c;
    note n;
    std::vector<MPI_Request> group{world.start(), world.start(), world.start()};
    const ticket t[] = {world.ticket_of(group[0]), world.ticket_of(group[1]), world.ticket_of(group[2])};
    MPI_Status statuses[3];
    attach(group, n, c, statuses);
    world.complete(t[2], failing(MPI_ERR_OTHER));
    world.complete(t[0]);
    world.complete(t[1], failing(MPI_ERR_TRUNCATE));
    EXPECT_TRUE(eventually([&] { return n.runs == 1; }));
    EXPECT_EQ(n.error, MPI_ERR_TRUNCATE);
    EXPECT_EQ(statuses[0].MPI_ERROR, MPI_SUCCESS);
    EXPECT_EQ(statuses[1].MPI_ERROR, MPI_ERR_TRUNCATE);
    EXPECT_EQ(statuses[2].MPI_ERROR, MPI_ERR_OTHER);
    reported();
}

TEST_P(failures, one_that_fails_does_not_affect_the_others) {
    cr c;
    note good;
    note bad;
    std::vector<ticket> tickets;
    for (int i = 0; i < 10; ++i) {
        MPI_Request r = world.start();
        tickets.push_back(world.ticket_of(r));
        attach(r, i == 4 ? bad : good, c);
    }
    for (std::size_t i = 0; i < tickets.size(); ++i) {
        world.complete(tickets[i], failing(i == 4 ? MPI_ERR_TRUNCATE : MPI_SUCCESS));
    }
    EXPECT_EQ(thence_wait(&c, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(good.runs, 9);
    EXPECT_EQ(good.error, MPI_SUCCESS);
    EXPECT_EQ(bad.runs, 1);
    EXPECT_EQ(bad.error, MPI_ERR_TRUNCATE);
    expect_reported(MPI_ERR_TRUNCATE);
}

TEST_P(failures, one_that_makes_mpi_lose_others_ends_each_of_them) {
    world.failed_testsome_frees_pending = true;
    cr c;
    note bad;
    std::array<note, 9> others;
    std::vector<ticket> tickets;
    for (note &n : others) {
        tickets.push_back(attach_pending(n, c));
    }
    world.complete(attach_pending(bad, c), failing(MPI_ERR_TRUNCATE));
    EXPECT_TRUE(eventually([&] { return bad.runs == 1; }));
    for (const ticket &t : tickets) {
        world.complete(t);
    }
    EXPECT_TRUE(eventually([&] { return c.test(); }));
    const codes told = reported();
    for (const note &n : others) {
        EXPECT_EQ(n.runs, 1);
#if defined(OPEN_MPI)
        if (GetParam().offers.opal_progress) {
            EXPECT_EQ(n.error, MPI_SUCCESS) << "no pending request is given to MPI_Testsome";
        }
#endif
        EXPECT_TRUE(n.error == MPI_SUCCESS || std::find(told.begin(), told.end(), n.error) != told.end());
    }
}

TEST_P(failures, complete_at_once_returns_the_error_as_mpi_test_does) {
    cr c;
    note n;
    MPI_Request r = world.start();
    world.complete(r, failing(MPI_ERR_TRUNCATE));
    MPI_Status status{};
    int flag = -1;
    EXPECT_EQ(thence_attach(1, &r, &note::run, &n, 0, &status, c, &flag), MPI_ERR_TRUNCATE);
    EXPECT_EQ(flag, 1);
    EXPECT_EQ(status.MPI_ERROR, MPI_ERR_TRUNCATE);
    EXPECT_EQ(reported(), codes{MPI_ERR_TRUNCATE}) << "once";

    MPI_Request group[] = {world.start(), world.start()};
    world.complete(group[0]);
    world.complete(group[1], failing(MPI_ERR_TRUNCATE));
    MPI_Status statuses[2];
    EXPECT_EQ(thence_attach(2, group, &note::run, &n, 0, statuses, c, &flag), MPI_ERR_IN_STATUS);
    EXPECT_EQ(flag, 1);
    EXPECT_EQ(statuses[0].MPI_ERROR, MPI_SUCCESS);
    EXPECT_EQ(statuses[1].MPI_ERROR, MPI_ERR_TRUNCATE);
    EXPECT_EQ(n.runs, 0);
    expect_reported(MPI_ERR_TRUNCATE);
}

TEST_P(failures, callback_returning_an_error_does_not_free_the_cr) {
    cr c;
    note n;
    n.answer = MPI_ERR_OTHER;
    for (int round = 1; round <= 3; ++round) {
        const ticket t = attach_pending(n, c);
        world.complete(t);
        EXPECT_TRUE(eventually([&] { return n.runs == round; }));
        EXPECT_TRUE(c.test());
        EXPECT_EQ(thence_is_cr(c), 1);
    }
}

TEST_P(failures, kinds_that_only_mpi_can_complete_are_completed_by_it) {
    for (const kind what : {kind::io, kind::generalized, kind::rma, kind::collective}) {
        cr c;
        note n;
        MPI_Status status{};
        MPI_Request r = world.start(what);
        const ticket t = world.ticket_of(r);
        attach(r, n, c, &status);
        world.complete(t, {3});
        EXPECT_TRUE(eventually([&] { return n.runs == 1; }));
        EXPECT_EQ(status.MPI_SOURCE, 3);
        EXPECT_EQ(status.MPI_ERROR, MPI_SUCCESS);
    }
}

TEST_P(failures, report_failed_keeps_them_for_get_failed_and_does_not_run_them) {
    cr c(THENCE_CR_REPORT_FAILED);
    note n[4];
    std::vector<ticket> tickets;
    for (note &each : n) {
        MPI_Request r = world.start();
        tickets.push_back(world.ticket_of(r));
        attach(r, each, c);
    }
    const auto fail = [&](std::size_t i) {
        world.complete(tickets[i], failing(i == 1 ? MPI_ERR_TRUNCATE : MPI_ERR_OTHER));
        for (int k = 0; k < 3; ++k) {
            let_run();
        }
    };
    fail(1);
    fail(3);
    EXPECT_FALSE(reported().empty());
    world.complete(tickets[0]);
    world.complete(tickets[2]);
    int code = MPI_SUCCESS;
    for (int flag = 0; flag == 0;) {
        code = thence_test(&c, &flag, MPI_STATUS_IGNORE);
    }
    EXPECT_EQ(code, MPI_ERR_TRUNCATE) << "the first failure";
    EXPECT_TRUE(reported().empty()) << "the operation has called its error handler already";
    EXPECT_TRUE(c.test()) << "reported once";
    EXPECT_EQ(n[0].runs, 1);
    EXPECT_EQ(n[1].runs, 0);
    EXPECT_EQ(n[2].runs, 1);
    EXPECT_EQ(n[3].runs, 0);

    void *data[4] = {};
    int count = 1;
    EXPECT_EQ(thence_get_failed(c, &count, data), MPI_SUCCESS);
    EXPECT_EQ(count, 1);
    EXPECT_EQ(data[0], &n[1]) << "oldest first";
    count = 4;
    EXPECT_EQ(thence_get_failed(c, &count, data), MPI_SUCCESS);
    EXPECT_EQ(count, 1);
    EXPECT_EQ(data[0], &n[3]);
    EXPECT_EQ(thence_get_failed(c, &count, data), MPI_SUCCESS);
    EXPECT_EQ(count, 0);
}

TEST_P(failures, of_a_cr_are_the_error_of_a_continuation_on_it) {
    for (const bool failed_before : {false, true}) {
        cr inner(THENCE_CR_REPORT_FAILED);
        cr outer(THENCE_CR_ENQUEUE_COMPLETE);
        note n;
        note end;
        MPI_Status status{};
        const ticket t = attach_pending(n, inner);
        const auto fail = [&] {
            world.complete(t, failing(MPI_ERR_TRUNCATE));
            EXPECT_TRUE(eventually([&] { return inner.registered() == 0; }));
        };
        if (failed_before) {
            fail();
        }
        MPI_Request continued = inner;
        EXPECT_EQ(attach(continued, end, outer, &status), 0);
        if (!failed_before) {
            fail();
        }
        EXPECT_TRUE(eventually([&] { return end.runs == 1; }));
        EXPECT_EQ(end.error, MPI_ERR_TRUNCATE);
        EXPECT_EQ(status.MPI_ERROR, MPI_ERR_TRUNCATE);
        EXPECT_TRUE(inner.test()) << "reported once";
    }
    reported();
}

TEST_P(failures, invoke_failed_runs_the_callback_with_the_error) {
    cr c(THENCE_CR_REPORT_FAILED);
    note n;
    const ticket t = attach_pending(n, c, MPI_STATUS_IGNORE, THENCE_INVOKE_FAILED);
    world.complete(t, failing(MPI_ERR_TRUNCATE));
    EXPECT_TRUE(eventually([&] { return n.runs == 1; }));
    EXPECT_EQ(n.error, MPI_ERR_TRUNCATE);
    reported();
    int flag = 0;
    EXPECT_EQ(thence_test(&c, &flag, MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE);
    EXPECT_EQ(flag, 1);
    EXPECT_TRUE(reported().empty());
}

TEST_P(failures, a_callback_that_returns_an_error_is_reported) {
    cr c(THENCE_CR_REPORT_FAILED);
    note n;
    n.answer = MPI_ERR_OTHER;
    const ticket t = attach_pending(n, c);
    world.complete(t);
    EXPECT_TRUE(eventually([&] { return n.runs == 1; }));
    void *data[2] = {};
    int count = 2;
    EXPECT_EQ(thence_get_failed(c, &count, data), MPI_SUCCESS);
    EXPECT_EQ(count, 1);
    EXPECT_EQ(data[0], &n);
    int flag = 0;
    EXPECT_EQ(thence_test(&c, &flag, MPI_STATUS_IGNORE), MPI_ERR_OTHER);
    EXPECT_EQ(reported(), codes{MPI_ERR_OTHER});
}

// The Forum's interface.

int forum_callback(int code, void *data) {
    return note::run(code, nullptr, data);
}

class forum : public on_fake {
protected:
    MPI_Request make(int flags = 0, int max_poll = 0) {
        MPI_Request c = MPI_REQUEST_NULL;
        EXPECT_EQ(MPIX_Continue_init(flags, max_poll, MPI_INFO_NULL, &c), MPI_SUCCESS);
        return c;
    }
    ticket pending(note &n, MPI_Request c, int flags = 0) {
        MPI_Request r = world.start();
        const ticket t = world.ticket_of(r);
        EXPECT_EQ(MPIX_Continue(&r, &forum_callback, &n, flags, MPI_STATUS_IGNORE, c), MPI_SUCCESS);
        EXPECT_EQ(r, MPI_REQUEST_NULL);
        return t;
    }
};

TEST_P(forum, continuations_run_only_between_start_and_completion) {
    MPI_Request c = make();
    note n;
    world.complete(pending(n, c));
    let_run();
    EXPECT_EQ(n.runs, 0);
    EXPECT_EQ(MPI_Start(&c), MPI_SUCCESS);
    EXPECT_EQ(MPI_Wait(&c, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(n.runs, 1);
    world.complete(pending(n, c));
    let_run();
    EXPECT_EQ(n.runs, 1) << "inactive again";
    EXPECT_EQ(MPI_Start(&c), MPI_SUCCESS);
    EXPECT_EQ(MPI_Wait(&c, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(n.runs, 2);
    EXPECT_EQ(MPI_Request_free(&c), MPI_SUCCESS);
}

TEST_P(forum, a_complete_operation_may_run_inside_attaching_unless_deferred) {
    MPI_Request c = make();
    EXPECT_EQ(MPI_Start(&c), MPI_SUCCESS);
    note n;
    MPI_Request r = world.start();
    world.complete(r);
    EXPECT_EQ(MPIX_Continue(&r, &forum_callback, &n, 0, MPI_STATUS_IGNORE, c), MPI_SUCCESS);
    EXPECT_EQ(n.runs, 1);
    note m;
    MPI_Request q = world.start();
    world.complete(q);
    EXPECT_EQ(MPIX_Continue(&q, &forum_callback, &m, MPIX_CONT_DEFER_COMPLETE, MPI_STATUS_IGNORE, c), MPI_SUCCESS);
    EXPECT_EQ(m.runs, 0);
    EXPECT_EQ(MPI_Wait(&c, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(m.runs, 1);
    MPI_Request_free(&c);
}

TEST_P(forum, an_inactive_cr_runs_nothing_inside_attaching) {
    MPI_Request c = make();
    note n;
    MPI_Request r = world.start();
    world.complete(r);
    EXPECT_EQ(MPIX_Continue(&r, &forum_callback, &n, 0, MPI_STATUS_IGNORE, c), MPI_SUCCESS);
    EXPECT_EQ(n.runs, 0);
    MPI_Start(&c);
    MPI_Wait(&c, MPI_STATUS_IGNORE);
    EXPECT_EQ(n.runs, 1);
    MPI_Request_free(&c);
}

TEST_P(forum, failed_continuations_via_get_failed) {
    MPI_Request c = make();
    MPI_Start(&c);
    note n;
    note invoked;
    const ticket a = pending(n, c);
    const ticket b = pending(invoked, c, MPIX_CONT_INVOKE_FAILED);
    world.complete(a, {0, 0, 0, MPI_ERR_TRUNCATE});
    world.complete(b, {0, 0, 0, MPI_ERR_TRUNCATE});
    EXPECT_EQ(MPI_Wait(&c, MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE);
    EXPECT_EQ(n.runs, 0);
    EXPECT_EQ(invoked.runs, 1);
    EXPECT_EQ(invoked.error, MPI_ERR_TRUNCATE);
    void *data[4] = {};
    int count = 4;
    EXPECT_EQ(MPIX_Continue_get_failed(c, &count, data), MPI_SUCCESS);
    ASSERT_EQ(count, 2);
    EXPECT_TRUE((data[0] == &n && data[1] == &invoked) || (data[1] == &n && data[0] == &invoked));
    reported();
    MPI_Request_free(&c);
}

TEST_P(forum, poll_only_runs_only_when_tested) {
    MPI_Request c = make(MPIX_CONT_POLL_ONLY, 1);
    MPI_Start(&c);
    note n;
    const ticket a = pending(n, c);
    const ticket b = pending(n, c);
    world.complete(a);
    world.complete(b);
    let_run();
    EXPECT_EQ(n.runs, 0);
    int flag = 0;
    MPI_Test(&c, &flag, MPI_STATUS_IGNORE);
    EXPECT_LE(n.runs, 1) << "max_poll";
    MPI_Wait(&c, MPI_STATUS_IGNORE);
    EXPECT_EQ(n.runs, 2);
    MPI_Request_free(&c);
}

TEST_P(forum, max_poll_of_zero_or_undefined_is_no_limit) {
    for (const int no_limit : {0, int{MPI_UNDEFINED}}) {
        MPI_Request c = make(MPIX_CONT_POLL_ONLY, no_limit);
        MPI_Start(&c);
        note n;
        for (const ticket t : {pending(n, c), pending(n, c), pending(n, c)}) {
            world.complete(t);
        }
        thence_cr_info info{};
        thence_cr_query(c, &info, sizeof info);
        EXPECT_EQ(info.max_poll, -1);
        int flag = 0;
        MPI_Test(&c, &flag, MPI_STATUS_IGNORE);
        EXPECT_EQ(flag, 1);
        EXPECT_EQ(n.runs, 3);
        MPI_Request_free(&c);
    }
}

TEST_P(forum, bad_arguments_change_nothing) {
    MPI_Request none = MPI_REQUEST_NULL;
    const auto refused = [](int code, int expected) {
        EXPECT_EQ(code, expected);
        EXPECT_EQ(reported(), codes{expected});
    };
    refused(MPIX_Continue_init(1 << 3, 0, MPI_INFO_NULL, &none), MPI_ERR_ARG);
    refused(MPIX_Continue_init(0, -1, MPI_INFO_NULL, &none), MPI_ERR_ARG);
    refused(MPIX_Continue_init(0, 0, MPI_INFO_NULL, nullptr), MPI_ERR_ARG);
    EXPECT_EQ(none, MPI_REQUEST_NULL);
    MPI_Request c = make();
    MPI_Request r = world.start();
    const MPI_Request before = r;
    refused(MPIX_Continue(&r, &forum_callback, nullptr, 1 << 7, MPI_STATUS_IGNORE, c), MPI_ERR_ARG);
    refused(MPIX_Continue(&r, nullptr, nullptr, 0, MPI_STATUS_IGNORE, c), MPI_ERR_ARG);
    refused(MPIX_Continue(nullptr, &forum_callback, nullptr, 0, MPI_STATUS_IGNORE, c), MPI_ERR_ARG);
    refused(MPIX_Continue(&r, &forum_callback, nullptr, 0, MPI_STATUS_IGNORE, r), MPI_ERR_REQUEST);
    refused(MPIX_Continueall(-1, &r, &forum_callback, nullptr, 0, MPI_STATUSES_IGNORE, c), MPI_ERR_ARG);
    EXPECT_EQ(r, before);
    world.complete(r);
    thence::mpi::table.Wait(&r, MPI_STATUS_IGNORE);
    MPI_Request_free(&c);
}

THENCE_RULES(failures);
THENCE_RULES(forum);

} // namespace
