// SPDX-License-Identifier: BSD-3-Clause
// Continuation requests: their states, freeing, starting, and continuations on them.
#include "library.hpp"

#include <chrono>
#include <memory>

namespace {

using namespace thence::fake;

class continuation_requests : public on_fake {};

TEST_P(continuation_requests, a_new_one_is_inactive_and_complete) {
    cr c;
    thence_cr_info info{};
    EXPECT_EQ(thence_cr_query(c, &info, sizeof info), MPI_SUCCESS);
    EXPECT_EQ(info.active, 0);
    EXPECT_EQ(info.registered, 0);
    EXPECT_EQ(thence_is_cr(c), 1);
    MPI_Status status{};
    status.MPI_SOURCE = 77;
    int flag = 0;
    EXPECT_EQ(thence_test(&c, &flag, &status), MPI_SUCCESS);
    EXPECT_EQ(flag, 1);
    EXPECT_EQ(status.MPI_SOURCE, MPI_ANY_SOURCE);
    EXPECT_EQ(status.MPI_TAG, MPI_ANY_TAG);
    EXPECT_EQ(status.MPI_ERROR, MPI_SUCCESS);
    EXPECT_EQ(mpi::bytes_of(status), 0);
    EXPECT_FALSE(mpi::is_cancelled(status));
    EXPECT_EQ(thence_wait(&c, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_NE(c.handle, MPI_REQUEST_NULL) << "it stays usable";
}

TEST_P(continuation_requests, a_test_of_an_incomplete_cr_does_not_set_the_status) {
    cr c;
    note n;
    const ticket t = attach_pending(n, c);
    MPI_Status status{};
    status.MPI_SOURCE = 77;
    int flag = 1;
    EXPECT_EQ(thence_test(&c, &flag, &status), MPI_SUCCESS);
    EXPECT_EQ(flag, 0);
    EXPECT_EQ(status.MPI_SOURCE, 77);
    world.complete(t);
    EXPECT_EQ(thence_wait(&c, &status), MPI_SUCCESS);
    EXPECT_EQ(status.MPI_SOURCE, MPI_ANY_SOURCE);
}

TEST_P(continuation_requests, it_is_active_while_any_is_registered) {
    cr c;
    note n;
    thence_cr_info info{};
    const ticket a = attach_pending(n, c);
    const ticket b = attach_pending(n, c);
    thence_cr_query(c, &info, sizeof info);
    EXPECT_EQ(info.active, 1);
    EXPECT_EQ(info.registered, 2);
    world.complete(b);
    EXPECT_TRUE(eventually([&] { return n.runs == 1; }));
    EXPECT_FALSE(c.test());
    EXPECT_EQ(c.registered(), 1);
    world.complete(a);
    EXPECT_EQ(thence_wait(&c, MPI_STATUS_IGNORE), MPI_SUCCESS);
    thence_cr_query(c, &info, sizeof info);
    EXPECT_EQ(info.active, 0);
    EXPECT_EQ(info.registered, 0);
}

TEST_P(continuation_requests, it_can_be_used_again_after_completion) {
    cr c;
    note n;
    for (int round = 1; round <= 3; ++round) {
        const ticket t = attach_pending(n, c);
        EXPECT_FALSE(c.test());
        world.complete(t);
        EXPECT_EQ(thence_wait(&c, MPI_STATUS_IGNORE), MPI_SUCCESS);
        EXPECT_EQ(n.runs, round);
    }
}

TEST_P(continuation_requests, a_registered_one_is_counted_until_its_callback_has_returned) {
    cr c;
    note n;
    long inside = -1;
    n.inside = [&] { inside = c.registered(); };
    world.complete(attach_pending(n, c));
    EXPECT_TRUE(eventually([&] { return n.runs == 1; }));
    EXPECT_EQ(inside, 1);
    EXPECT_EQ(c.registered(), 0);
}

TEST_P(continuation_requests, freed_cr_still_runs_its_continuations) {
    for (const unsigned flags : {0U, unsigned{THENCE_CR_POLL_ONLY}, unsigned{THENCE_CR_NEEDS_START}}) {
        note n;
        ticket before{};
        ticket after{};
        MPI_Request handle = MPI_REQUEST_NULL;
        {
            cr c(flags);
            before = attach_pending(n, c);
            after = attach_pending(n, c);
            world.complete(before); // ready; its CR may need a test or a start, neither of which is possible any more
            handle = c;
        }
        EXPECT_EQ(thence_is_cr(handle), 0);
        EXPECT_TRUE(eventually([&] { return n.runs == 1; })) << "flags " << flags;
        world.complete(after);
        EXPECT_TRUE(eventually([&] { return n.runs == 2; })) << "flags " << flags;
    }
}

TEST_P(continuation_requests, free_sets_the_handle_to_null) {
    cr c;
    EXPECT_EQ(thence_free(&c), MPI_SUCCESS);
    EXPECT_EQ(c.handle, MPI_REQUEST_NULL);
}

TEST_P(continuation_requests, a_callback_may_free_its_own_cr) {
    cr c;
    note n;
    n.inside = [&] { EXPECT_EQ(thence_free(&c), MPI_SUCCESS); };
    world.complete(attach_pending(n, c));
    EXPECT_TRUE(eventually([&] { return n.runs == 1; }));
}

TEST_P(continuation_requests, a_freed_handle_is_refused) {
    cr c;
    MPI_Request stale = c;
    thence_free(&c);
    int flag = -1;
    EXPECT_EQ(thence_test(&stale, &flag, MPI_STATUS_IGNORE), MPI_ERR_REQUEST);
    EXPECT_EQ(flag, -1);
    EXPECT_EQ(reported(), codes{MPI_ERR_REQUEST});
}

TEST_P(continuation_requests, cr_continued_through_another_cr) {
    cr inner;
    cr outer;
    note ops;
    note all;
    const ticket a = attach_pending(ops, inner);
    const ticket b = attach_pending(ops, inner);
    MPI_Request handle = inner;
    int done_before = -1;
    all.inside = [&] { done_before = ops.runs; };
    MPI_Status status{};
    status.MPI_SOURCE = 77;
    EXPECT_EQ(attach(handle, all, outer, &status), 0);
    EXPECT_EQ(handle, inner.handle) << "a CR stays usable";
    world.complete(a);
    let_run();
    EXPECT_FALSE(outer.test());
    EXPECT_EQ(all.runs, 0);
    world.complete(b);
    EXPECT_EQ(thence_wait(&outer, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(all.runs, 1);
    EXPECT_EQ(done_before, 2) << "after all callbacks of the inner one";
    EXPECT_EQ(status.MPI_SOURCE, MPI_ANY_SOURCE) << "an empty status";
}

TEST_P(continuation_requests, an_idle_cr_continued_through_another_is_complete_at_once) {
    cr inner;
    cr outer;
    note n;
    MPI_Request handle = inner;
    EXPECT_EQ(attach(handle, n, outer), 1);
}

TEST_P(continuation_requests, a_group_may_hold_crs_and_operations) {
    cr inner;
    cr outer;
    note ops;
    note all;
    const ticket in = attach_pending(ops, inner);
    std::vector<MPI_Request> group{inner, world.start(), MPI_REQUEST_NULL};
    const ticket own = world.ticket_of(group[1]);
    MPI_Status statuses[3];
    EXPECT_EQ(attach(group, all, outer, statuses), 0);
    EXPECT_EQ(group[0], inner.handle);
    EXPECT_EQ(group[1], MPI_REQUEST_NULL);
    world.complete(own, {5});
    let_run();
    EXPECT_EQ(all.runs, 0);
    world.complete(in);
    EXPECT_TRUE(eventually([&] { return all.runs == 1; }));
    EXPECT_EQ(statuses[0].MPI_SOURCE, MPI_ANY_SOURCE);
    EXPECT_EQ(statuses[1].MPI_SOURCE, 5);
    EXPECT_EQ(statuses[2].MPI_SOURCE, MPI_ANY_SOURCE);
}

TEST_P(continuation_requests, a_chain_of_crs_completes_in_order) {
    constexpr int length = 10;
    std::vector<std::unique_ptr<cr>> chain;
    std::vector<note> notes(length);
    std::vector<int> order;
    chain.push_back(std::make_unique<cr>());
    const ticket t = attach_pending(notes[0], *chain[0]);
    notes[0].inside = [&] { order.push_back(0); };
    for (int i = 1; i < length; ++i) {
        chain.push_back(std::make_unique<cr>());
        auto &n = notes[static_cast<std::size_t>(i)];
        n.inside = [&order, i] { order.push_back(i); };
        MPI_Request before = *chain[static_cast<std::size_t>(i) - 1];
        EXPECT_EQ(attach(before, n, *chain.back()), 0);
    }
    world.complete(t);
    EXPECT_TRUE(eventually([&] { return notes.back().runs == 1; }));
    ASSERT_EQ(order.size(), notes.size());
    for (int i = 0; i < length; ++i) {
        EXPECT_EQ(order[static_cast<std::size_t>(i)], i);
    }
}

TEST_P(continuation_requests, a_cr_that_is_waited_on_may_be_freed) {
    cr outer;
    note ops;
    note all;
    ticket t{};
    {
        cr inner;
        t = attach_pending(ops, inner);
        MPI_Request handle = inner;
        EXPECT_EQ(attach(handle, all, outer), 0);
    }
    EXPECT_FALSE(outer.test());
    world.complete(t);
    EXPECT_TRUE(eventually([&] { return all.runs == 1 && ops.runs == 1; }));
}

TEST_P(continuation_requests, several_continuations_wait_on_one_cr) {
    cr inner;
    cr outer;
    note ops;
    note all;
    const ticket t = attach_pending(ops, inner);
    for (int i = 0; i < 5; ++i) {
        MPI_Request handle = inner;
        EXPECT_EQ(attach(handle, all, outer), 0);
    }
    world.complete(t);
    EXPECT_EQ(thence_wait(&outer, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(all.runs, 5);
}

TEST_P(continuation_requests, needs_start_runs_nothing_before_start) {
    cr c(THENCE_CR_NEEDS_START);
    note n;
    world.complete(attach_pending(n, c));
    for (int i = 0; i < 3; ++i) {
        let_run();
        EXPECT_TRUE(c.test()) << "inactive: nothing to wait for";
    }
    EXPECT_EQ(n.runs, 0);
    EXPECT_EQ(c.registered(), 1);
    EXPECT_EQ(thence_start(&c), MPI_SUCCESS);
    thence_cr_info info{};
    thence_cr_query(c, &info, sizeof info);
    EXPECT_EQ(info.active, 1);
    EXPECT_EQ(thence_wait(&c, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(n.runs, 1);
}

TEST_P(continuation_requests, needs_start_again_after_completion) {
    cr c(THENCE_CR_NEEDS_START);
    note n;
    EXPECT_EQ(thence_start(&c), MPI_SUCCESS);
    EXPECT_EQ(thence_start(&c), MPI_ERR_REQUEST) << "active already";
    EXPECT_EQ(reported(), codes{MPI_ERR_REQUEST});
    EXPECT_TRUE(c.test());
    world.complete(attach_pending(n, c));
    let_run();
    EXPECT_EQ(n.runs, 0);
    EXPECT_EQ(thence_start(&c), MPI_SUCCESS);
    EXPECT_TRUE(eventually([&] { return n.runs == 1; }));
    EXPECT_TRUE(c.test());
}

TEST_P(continuation_requests, start_does_nothing_to_others) {
    cr c;
    EXPECT_EQ(thence_start(&c), MPI_SUCCESS);
    EXPECT_EQ(thence_start(&c), MPI_SUCCESS);
    EXPECT_TRUE(c.test());
}

TEST_P(continuation_requests, a_continuation_that_has_run_is_not_registered) {
    cr c;
    note n;
    std::vector<long> inside;
    n.inside = [&] { inside.push_back(c.registered()); };
    const ticket first = attach_pending(n, c);
    const ticket second = attach_pending(n, c);
    world.complete(first);
    world.complete(second);
    EXPECT_TRUE(eventually([&] { return n.runs == 2; }));
    EXPECT_EQ(inside, (std::vector<long>{2, 1}));
}

TEST_P(continuation_requests, a_handle_without_report_failed_is_not_used_for_one_with_it) {
    MPI_Request plain = MPI_REQUEST_NULL;
    ASSERT_EQ(thence_cr_create(0, -1, MPI_INFO_NULL, &plain), MPI_SUCCESS);
    const MPI_Request before = plain;
    EXPECT_EQ(thence_free(&plain), MPI_SUCCESS);
    {
        const cr reporting(THENCE_CR_REPORT_FAILED);
        EXPECT_NE(reporting.handle, before);
    }
    const cr again;
    EXPECT_EQ(again.handle, before);
}

TEST_P(continuation_requests, there_may_be_65536_at_a_time) {
    std::vector<MPI_Request> all;
    MPI_Request c = MPI_REQUEST_NULL;
    int code = MPI_SUCCESS;
    while ((code = thence_cr_create(0, -1, MPI_INFO_NULL, &c)) == MPI_SUCCESS && all.size() <= 65536) {
        all.push_back(c);
    }
    EXPECT_EQ(all.size(), 65536U);
    EXPECT_EQ(code, MPI_ERR_NO_MEM);
    EXPECT_EQ(reported(), codes{MPI_ERR_NO_MEM});
    EXPECT_EQ(thence_free(&all.back()), MPI_SUCCESS);
    EXPECT_EQ(thence_cr_create(0, -1, MPI_INFO_NULL, &all.back()), MPI_SUCCESS) << "a freed one makes room";
    for (MPI_Request &handle : all) {
        ASSERT_EQ(thence_is_cr(handle), 1);
        thence_free(&handle);
    }
}

THENCE_RULES(continuation_requests);

} // namespace
