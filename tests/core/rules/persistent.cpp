// SPDX-License-Identifier: BSD-3-Clause
// Persistent requests stay the user's: usable, restartable, cancellable, and with several continuations.
#include "library.hpp"

namespace {

using namespace thence::fake;
using thence::mpi::table;

class persistent : public on_fake {
protected:
    // Created by the interposed call, so every engine recognizes it.
    MPI_Request make() {
        MPI_Request r = MPI_REQUEST_NULL;
        MPI_Recv_init(nullptr, 0, MPI_CHAR, 0, 0, MPI_COMM_SELF, &r);
        return r;
    }
};

TEST_P(persistent, persistent_request_stays_usable) {
    cr c;
    MPI_Request r = make();
    const MPI_Request handle = r;
    for (int round = 0; round < 5; ++round) {
        note n;
        MPI_Status status{};
        EXPECT_EQ(MPI_Start(&r), MPI_SUCCESS);
        EXPECT_EQ(attach(r, n, c, &status), 0);
        EXPECT_EQ(r, handle);
        let_run();
        EXPECT_EQ(n.runs, 0);
        world.complete(r, {round});
        EXPECT_TRUE(eventually([&] { return n.runs == 1; }));
        EXPECT_EQ(status.MPI_SOURCE, round);
        EXPECT_TRUE(c.test());
        int flag = 0;
        EXPECT_EQ(MPI_Test(&r, &flag, MPI_STATUS_IGNORE), MPI_SUCCESS);
        EXPECT_EQ(flag, 1) << "inactive again";
    }
    EXPECT_EQ(MPI_Request_free(&r), MPI_SUCCESS);
}

TEST_P(persistent, the_flag_marks_one_that_cannot_be_detected) {
    cr c;
    note n;
    MPI_Request r = world.persistent(); // not through an interposed call
    table.Start(&r);
    EXPECT_EQ(attach(r, n, c, MPI_STATUS_IGNORE, THENCE_PERSISTENT), 0);
    EXPECT_NE(r, MPI_REQUEST_NULL);
    world.complete(r);
    EXPECT_TRUE(eventually([&] { return n.runs == 1; }));
    table.Start(&r);
    world.complete(r);
    int flag = 0;
    table.Test(&r, &flag, MPI_STATUS_IGNORE);
    EXPECT_EQ(flag, 1);
    table.Request_free(&r);
}

TEST_P(persistent, a_complete_one_is_complete_at_once_and_inactive) {
    cr c;
    note n;
    MPI_Request r = make();
    MPI_Start(&r);
    world.complete(r, {3});
    MPI_Status status{};
    EXPECT_EQ(attach(r, n, c, &status), 1);
    EXPECT_EQ(status.MPI_SOURCE, 3);
    EXPECT_NE(r, MPI_REQUEST_NULL);
    EXPECT_EQ(MPI_Start(&r), MPI_SUCCESS) << "it is inactive";
    world.complete(r);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    MPI_Request_free(&r);
}

TEST_P(persistent, null_and_inactive_requests_are_complete_with_an_empty_status) {
    cr c;
    note n;
    std::vector<MPI_Request> group{MPI_REQUEST_NULL, make()};
    MPI_Status statuses[2];
    statuses[0].MPI_SOURCE = statuses[1].MPI_SOURCE = 77;
    EXPECT_EQ(attach(group, n, c, statuses), 1);
    for (const MPI_Status &s : statuses) {
        EXPECT_EQ(s.MPI_SOURCE, MPI_ANY_SOURCE);
        EXPECT_EQ(s.MPI_TAG, MPI_ANY_TAG);
        EXPECT_EQ(s.MPI_ERROR, MPI_SUCCESS);
    }
    MPI_Request null = MPI_REQUEST_NULL;
    EXPECT_EQ(attach(null, n, c), 1);
    EXPECT_EQ(n.runs, 0);
    MPI_Request_free(&group[1]);
}

TEST_P(persistent, several_continuations_on_one_persistent_request) {
    cr c;
    cr d;
    note n[3];
    MPI_Status status[3] = {};
    MPI_Request r = make();
    MPI_Start(&r);
    EXPECT_EQ(attach(r, n[0], c, &status[0]), 0);
    EXPECT_EQ(attach(r, n[1], c, &status[1]), 0);
    EXPECT_EQ(attach(r, n[2], d, &status[2]), 0);
    world.complete(r, {8});
    EXPECT_TRUE(eventually([&] { return n[0].runs + n[1].runs + n[2].runs == 3; }));
    for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(n[i].runs, 1);
        EXPECT_EQ(status[i].MPI_SOURCE, 8);
    }
    MPI_Request_free(&r);
}

// The result is the same whether the message arrives before or after thence_attach().
TEST_P(persistent, all_get_the_status_whenever_they_were_attached) {
    for (const bool enqueue : {false, true}) {
        cr c(enqueue ? THENCE_CR_ENQUEUE_COMPLETE : 0U);
        MPI_Request r = make();
        for (int before = 0; before <= 3; ++before) { // so many continuations are attached before it is complete
            note n[3];
            MPI_Status status[3]{};
            MPI_Status users{};
            MPI_Start(&r);
            int runs = 0;
            for (int i = 0; i < 3; ++i) {
                if (i == before) {
                    world.complete(r, {8});
                }
                runs += 1 - attach(r, n[i], c, &status[i]);
            }
            if (before == 3) {
                world.complete(r, {8});
            }
            EXPECT_TRUE(runs == 3 || !enqueue);
            EXPECT_TRUE(eventually([&] { return n[0].runs + n[1].runs + n[2].runs == runs; }));
            for (int i = 0; i < 3; ++i) {
                EXPECT_EQ(status[i].MPI_SOURCE, 8) << i << " of those with " << before << " before completion";
            }
            EXPECT_EQ(MPI_Wait(&r, &users), MPI_SUCCESS);
            EXPECT_EQ(users.MPI_SOURCE, 8) << before;
            EXPECT_EQ(MPI_Wait(&r, &users), MPI_SUCCESS);
            EXPECT_EQ(users.MPI_SOURCE, MPI_ANY_SOURCE) << "reported once";
        }
        MPI_Request_free(&r);
    }
}

TEST_P(persistent, one_that_has_been_waited_for_gives_an_empty_status) {
    cr c;
    note n;
    MPI_Status late{};
    MPI_Request r = make();
    MPI_Start(&r);
    world.complete(r, {8});
    EXPECT_EQ(MPI_Wait(&r, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(attach(r, n, c, &late), 1);
    EXPECT_EQ(late.MPI_SOURCE, MPI_ANY_SOURCE);
    MPI_Request_free(&r);
}

TEST_P(persistent, the_users_own_wait_completes_it_for_its_continuations_too) {
    cr c;
    note n;
    MPI_Status ours{};
    MPI_Status theirs{};
    MPI_Request r = make();
    for (int round = 1; round <= 3; ++round) {
        MPI_Start(&r);
        EXPECT_EQ(attach(r, n, c, &ours), 0);
        world.complete(r, {round});
        EXPECT_EQ(MPI_Wait(&r, &theirs), MPI_SUCCESS);
        EXPECT_TRUE(eventually([&] { return n.runs == round; }));
        EXPECT_EQ(ours.MPI_SOURCE, round);
    }
    EXPECT_TRUE(c.test());
    MPI_Request_free(&r);
}

// Here a poll of the library is first.
TEST_P(persistent, the_user_gets_the_true_status_also_when_a_poll_was_first) {
    cr c;
    note n;
    MPI_Request r = make();
    int runs = 0;
    const auto complete_by_poll = [&](int source) {
        MPI_Start(&r);
        EXPECT_EQ(attach(r, n, c), 0);
        world.complete(r, {source});
        EXPECT_TRUE(eventually([&] { return n.runs == runs + 1; }));
        ++runs;
    };
    MPI_Status status{};
    int flag = -1;
    int index = -1;
    int indices[2];
    complete_by_poll(1);
    EXPECT_EQ(MPI_Request_get_status(r, &flag, &status), MPI_SUCCESS);
    EXPECT_EQ(status.MPI_SOURCE, 1) << "MPI_Request_get_status changes nothing";
    EXPECT_EQ(MPI_Wait(&r, &status), MPI_SUCCESS);
    EXPECT_EQ(status.MPI_SOURCE, 1);
    EXPECT_EQ(MPI_Wait(&r, &status), MPI_SUCCESS);
    EXPECT_EQ(status.MPI_SOURCE, MPI_ANY_SOURCE) << "once: it is inactive";
    complete_by_poll(2);
    EXPECT_EQ(MPI_Test(&r, &flag, &status), MPI_SUCCESS);
    EXPECT_EQ(flag, 1);
    EXPECT_EQ(status.MPI_SOURCE, 2);
    complete_by_poll(3);
    EXPECT_EQ(MPI_Waitany(1, &r, &index, &status), MPI_SUCCESS);
    EXPECT_EQ(index, 0);
    EXPECT_EQ(status.MPI_SOURCE, 3);
    EXPECT_EQ(MPI_Waitany(1, &r, &index, &status), MPI_SUCCESS);
    EXPECT_EQ(index, MPI_UNDEFINED);
    complete_by_poll(4);
    EXPECT_EQ(MPI_Testsome(1, &r, &index, indices, &status), MPI_SUCCESS);
    EXPECT_EQ(index, 1);
    EXPECT_EQ(status.MPI_SOURCE, 4);
    complete_by_poll(5);
    EXPECT_EQ(MPI_Waitall(1, &r, &status), MPI_SUCCESS);
    EXPECT_EQ(status.MPI_SOURCE, 5);
    complete_by_poll(6);
    EXPECT_EQ(MPI_Testall(1, &r, &flag, &status), MPI_SUCCESS);
    EXPECT_EQ(flag, 1);
    EXPECT_EQ(status.MPI_SOURCE, 6);
    complete_by_poll(7);
    complete_by_poll(8); // started again without a test before
    EXPECT_EQ(MPI_Wait(&r, &status), MPI_SUCCESS);
    EXPECT_EQ(status.MPI_SOURCE, 8);
    complete_by_poll(9);
    note again;
    MPI_Status ours{};
    EXPECT_EQ(attach(r, again, c, &ours), 1) << "complete, and not tested yet";
    EXPECT_EQ(ours.MPI_SOURCE, 9);
    complete_by_poll(10);
    MPI_Request_free(&r);
    MPI_Request plain = world.start(); // may have the same handle
    EXPECT_EQ(MPI_Test(&plain, &flag, &status), MPI_SUCCESS);
    EXPECT_EQ(flag, 0);
    world.complete(plain);
    MPI_Wait(&plain, MPI_STATUS_IGNORE);
}

#if defined(OPEN_MPI)

// Open MPI frees it.
class failed_persistent : public persistent {};

TEST_P(failed_persistent, stays_the_users) {
    world.failed_test_frees_persistent = true;
    cr c;
    note n;
    note twin;
    MPI_Status status{};
    MPI_Request r = make();
    const MPI_Request handle = r;
    MPI_Start(&r);
    attach(r, n, c);
    attach(r, twin, c);
    world.complete(r, {0, 0, 0, MPI_ERR_TRUNCATE});
    EXPECT_TRUE(eventually([&] { return n.runs == 1 && twin.runs == 1; }));
    EXPECT_EQ(n.error, MPI_ERR_TRUNCATE);
    EXPECT_EQ(twin.error, MPI_ERR_TRUNCATE);
    EXPECT_EQ(r, handle);
    EXPECT_EQ(reported(), codes{MPI_ERR_TRUNCATE}) << "the error handler is called once";
    EXPECT_EQ(MPI_Wait(&r, &status), MPI_ERR_TRUNCATE) << "the user's call returns it, too";
    ASSERT_EQ(r, handle);
    MPI_Start(&r);
    world.complete(r, {2});
    EXPECT_EQ(MPI_Wait(&r, &status), MPI_SUCCESS);
    EXPECT_EQ(status.MPI_SOURCE, 2);
    MPI_Request_free(&r);
}

THENCE_RULES_WHERE(failed_persistent, [](const variant &v) { return v.requests_can_be_read(); });

// Where the fields of requests are not known nothing keeps Open MPI from that, so only the user's own call tests it.
class unread_failed_persistent : public persistent {};

TEST_P(unread_failed_persistent, is_freed_by_the_users_call_alone) {
    world.failed_test_frees_persistent = true;
    cr c;
    note n;
    MPI_Request r = make();
    const MPI_Request handle = r;
    MPI_Start(&r);
    attach(r, n, c);
    world.complete(r, {0, 0, 0, MPI_ERR_TRUNCATE});
    EXPECT_TRUE(eventually([&] { return n.runs == 1; }));
    EXPECT_EQ(n.error, MPI_ERR_TRUNCATE);
    EXPECT_EQ(r, handle);
    EXPECT_EQ(reported(), codes{}) << "the error handler is not called yet";
    EXPECT_EQ(MPI_Wait(&r, MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE);
    EXPECT_EQ(reported(), codes{MPI_ERR_TRUNCATE});
    EXPECT_EQ(r, MPI_REQUEST_NULL);
}

THENCE_RULES_WHERE(unread_failed_persistent,
                   [](const variant &v) { return v.offers.opal_progress && !v.requests_can_be_read(); });

#endif

TEST_P(persistent, freed_while_continued_it_is_released_after_its_continuation) {
    cr c;
    note n;
    MPI_Request r = make();
    MPI_Start(&r);
    const ticket t = world.ticket_of(r);
    attach(r, n, c);
    EXPECT_EQ(MPI_Request_free(&r), MPI_SUCCESS);
    EXPECT_EQ(r, MPI_REQUEST_NULL);
    let_run();
    EXPECT_EQ(n.runs, 0);
    world.complete(t);
    EXPECT_TRUE(eventually([&] { return n.runs == 1; }));
}

TEST_P(persistent, it_can_be_cancelled_by_its_user) {
    cr c;
    note n;
    MPI_Status status{};
    MPI_Request r = make();
    MPI_Start(&r);
    attach(r, n, c, &status);
    EXPECT_EQ(MPI_Cancel(&r), MPI_SUCCESS);
    EXPECT_TRUE(eventually([&] { return n.runs == 1; }));
    EXPECT_TRUE(mpi::is_cancelled(status));
    MPI_Start(&r);
    world.complete(r);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    MPI_Request_free(&r);
}

TEST_P(persistent, a_group_of_persistent_and_other_requests) {
    cr c;
    note n;
    MPI_Request kept = make();
    MPI_Start(&kept);
    std::vector<MPI_Request> group{kept, world.start()};
    const ticket other = world.ticket_of(group[1]);
    EXPECT_EQ(attach(group, n, c), 0);
    EXPECT_EQ(group[0], kept);
    EXPECT_EQ(group[1], MPI_REQUEST_NULL);
    world.complete(kept);
    let_run();
    let_run();
    EXPECT_EQ(n.runs, 0);
    world.complete(other);
    EXPECT_TRUE(eventually([&] { return n.runs == 1; }));
    MPI_Request_free(&kept);
}

TEST_P(persistent, a_callback_may_restart_and_continue_it) {
    cr c;
    note n;
    MPI_Request r = make();
    constexpr int rounds = 50;
    n.inside = [&] {
        if (n.runs < rounds - 1) {
            EXPECT_EQ(MPI_Start(&r), MPI_SUCCESS);
            EXPECT_EQ(attach(r, n, c), 0);
            world.complete(r);
        }
    };
    MPI_Start(&r);
    EXPECT_EQ(attach(r, n, c), 0);
    world.complete(r);
    EXPECT_TRUE(eventually([&] { return n.runs == rounds; }));
    MPI_Request_free(&r);
}

THENCE_RULES(persistent);

} // namespace
