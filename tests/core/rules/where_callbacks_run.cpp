// SPDX-License-Identifier: BSD-3-Clause
// When and on which thread a callback may run, and when it may not.
#include "library.hpp"

#include <algorithm>

namespace {

using namespace thence::fake;

class where_callbacks_run : public on_fake {};

TEST_P(where_callbacks_run, flag_is_one_when_already_complete) {
    cr c;
    note n;
    MPI_Request r = world.start();
    world.complete(r, {2, 7, 5});
    MPI_Status status{};
    EXPECT_EQ(attach(r, n, c, &status), 1);
    EXPECT_EQ(r, MPI_REQUEST_NULL);
    EXPECT_EQ(status.MPI_SOURCE, 2);
    EXPECT_EQ(status.MPI_TAG, 7);
    EXPECT_EQ(status.MPI_ERROR, MPI_SUCCESS);
    EXPECT_EQ(mpi::bytes_of(status), 5);
    let_run();
    EXPECT_TRUE(c.test());
    EXPECT_EQ(n.runs, 0) << "complete at once: the callback is not called";
}

TEST_P(where_callbacks_run, flag_is_one_only_when_the_whole_group_is_complete) {
    cr c;
    note n;
    std::vector<MPI_Request> group{world.start(), world.start()};
    const ticket second = world.ticket_of(group[1]);
    world.complete(group[0]);
    EXPECT_EQ(attach(group, n, c), 0);
    world.complete(second);
    EXPECT_TRUE(eventually([&] { return n.runs == 1; }));

    note m;
    std::vector<MPI_Request> done{world.start(), world.start()};
    world.complete(done[0]);
    world.complete(done[1]);
    MPI_Status statuses[2];
    EXPECT_EQ(attach(done, m, c, statuses), 1);
    let_run();
    EXPECT_EQ(m.runs, 0);
}

TEST_P(where_callbacks_run, runs_once_after_completion_and_not_before) {
    cr c;
    note n;
    MPI_Request r = world.start();
    const ticket t = world.ticket_of(r);
    EXPECT_EQ(attach(r, n, c), 0);
    EXPECT_EQ(r, MPI_REQUEST_NULL);
    for (int i = 0; i < 3; ++i) {
        let_run();
        EXPECT_FALSE(c.test());
    }
    EXPECT_EQ(n.runs, 0);
    world.complete(t);
    for (int i = 0; i < 3; ++i) {
        let_run();
        EXPECT_TRUE(c.test());
    }
    EXPECT_EQ(n.runs, 1);
    EXPECT_EQ(n.error, MPI_SUCCESS);
}

TEST_P(where_callbacks_run, a_group_runs_after_its_last_operation) {
    cr c;
    note n;
    std::vector<MPI_Request> group;
    std::vector<ticket> tickets;
    for (int i = 0; i < 5; ++i) {
        group.push_back(world.start());
        tickets.push_back(world.ticket_of(group.back()));
    }
    MPI_Status statuses[5];
    EXPECT_EQ(attach(group, n, c, statuses), 0);
    EXPECT_EQ(std::count(group.begin(), group.end(), MPI_REQUEST_NULL), 5);
    for (const int i : {3, 0, 4, 1}) {
        world.complete(tickets[static_cast<std::size_t>(i)], {i, 10 + i, 100 + i});
        let_run();
        EXPECT_FALSE(c.test());
    }
    EXPECT_EQ(n.runs, 0);
    world.complete(tickets[2], {2, 12, 102});
    EXPECT_TRUE(eventually([&] { return n.runs == 1; }));
    EXPECT_EQ(n.statuses, statuses);
    for (int i = 0; i < 5; ++i) {
        EXPECT_EQ(statuses[i].MPI_SOURCE, i);
        EXPECT_EQ(statuses[i].MPI_TAG, 10 + i);
        EXPECT_EQ(statuses[i].MPI_ERROR, MPI_SUCCESS);
        EXPECT_EQ(mpi::bytes_of(statuses[i]), 100 + i);
    }
}

TEST_P(where_callbacks_run, statuses_are_set_before_the_callback_runs) {
    cr c;
    note n;
    MPI_Status status{};
    int source = -1;
    n.inside = [&] { source = status.MPI_SOURCE; };
    const ticket t = attach_pending(n, c, &status);
    world.complete(t, {6});
    EXPECT_TRUE(eventually([&] { return n.runs == 1; }));
    EXPECT_EQ(source, 6);
    EXPECT_EQ(n.statuses, &status);
}

TEST_P(where_callbacks_run, statuses_may_be_ignored) {
    cr c;
    note n;
    std::vector<MPI_Request> group{world.start(), world.start()};
    const ticket t[] = {world.ticket_of(group[0]), world.ticket_of(group[1])};
    attach(group, n, c, MPI_STATUSES_IGNORE);
    world.complete(t[0]);
    world.complete(t[1]);
    EXPECT_TRUE(eventually([&] { return n.runs == 1; }));
    EXPECT_EQ(n.statuses, MPI_STATUSES_IGNORE);
}

class where_a_hook_runs_callbacks : public where_callbacks_run {};

TEST_P(where_a_hook_runs_callbacks, any_mpi_call_of_any_thread_runs_it) {
    cr c;
    note n;
    const ticket t = attach_pending(n, c);
    world.complete(t);
    EXPECT_EQ(n.runs, 0) << "not inside MPI's completion path";
    std::thread other([&] {
        for (int i = 0; i < 3 && n.runs == 0; ++i) {
            world.progress();
        }
        EXPECT_EQ(n.runs, 1);
        EXPECT_EQ(n.thread, std::this_thread::get_id());
    });
    other.join();
}

class where_the_hook_holds_a_lock : public where_callbacks_run {}; // MPICH

TEST_P(where_the_hook_holds_a_lock, it_runs_no_callback) {
    cr c;
    note n;
    const ticket t = attach_pending(n, c);
    world.complete(t);
    for (int i = 0; i < 5; ++i) {
        world.progress();
    }
    EXPECT_EQ(n.runs, 0);
    let_run();
    EXPECT_EQ(n.runs, 1);
}

TEST_P(where_callbacks_run, no_callback_inside_attach) {
    cr c;
    note first;
    const ticket t = attach_pending(first, c);
    world.complete(t); // ready to run from now on

    // The second attach tests its operation, and in that test MPI may call the hook.
    note second;
    MPI_Request q = world.start();
    world.complete_in_progress(q);
    const int flag = attach(q, second, c);
    EXPECT_EQ(first.runs + second.runs, 0) << "the caller may hold a lock that a callback takes";
    let_run();
    let_run();
    EXPECT_EQ(first.runs, 1);
    EXPECT_EQ(second.runs, 1 - flag);
}

TEST_P(where_callbacks_run, no_callback_inside_attach_of_many_operations) {
    cr c;
    note first;
    const ticket t = attach_pending(first, c);
    world.complete(t);
    note many;
    std::vector<MPI_Request> group;
    for (int i = 0; i < 50; ++i) {
        group.push_back(world.start());
        world.complete_in_progress(group.back());
    }
    const int flag = attach(group, many, c);
    EXPECT_EQ(first.runs + many.runs, 0);
    EXPECT_TRUE(eventually([&] { return first.runs == 1 && many.runs == 1 - flag; }));
}

TEST_P(where_callbacks_run, no_callback_inside_another) {
    cr c;
    int depth = 0;
    int deepest = 0;
    note inner[3];
    note outer;
    const auto enter = [&] {
        deepest = std::max(deepest, ++depth);
        for (int i = 0; i < 3; ++i) {
            world.progress();
            let_run();
            int flag = 0;
            MPI_Request other = c;
            thence_test(&other, &flag, MPI_STATUS_IGNORE);
            EXPECT_EQ(flag, 0) << "this continuation is still registered";
        }
        --depth;
    };
    outer.inside = enter;
    MPI_Request r = world.start();
    std::vector<ticket> tickets{world.ticket_of(r)};
    attach(r, outer, c);
    for (note &n : inner) {
        n.inside = enter;
        MPI_Request q = world.start();
        tickets.push_back(world.ticket_of(q));
        attach(q, n, c);
    }
    for (const ticket &t : tickets) {
        world.complete(t);
    }
    EXPECT_TRUE(eventually([&] { return outer.runs + inner[0].runs + inner[1].runs + inner[2].runs == 4; }));
    EXPECT_EQ(deepest, 1);
}

TEST_P(where_callbacks_run, registration_from_inside_a_callback_with_its_own_cr) {
    cr c;
    constexpr int rounds = 200;
    int left = rounds;
    note n;
    n.inside = [&] {
        if (--left > 0) {
            const ticket t = attach_pending(n, c);
            world.complete_in_progress(t);
        }
    };
    const ticket t = attach_pending(n, c);
    world.complete_in_progress(t);
    EXPECT_TRUE(eventually([&] { return n.runs == rounds; }));
    EXPECT_TRUE(c.test());
}

TEST_P(where_callbacks_run, a_callback_may_start_and_complete_operations) {
    cr c;
    note n;
    bool done = false;
    n.inside = [&] {
        MPI_Request own = world.start();
        world.complete_in_progress(own);
        while (!done) {
            int flag = 0;
            ASSERT_EQ(thence::mpi::table.Test(&own, &flag, MPI_STATUS_IGNORE), MPI_SUCCESS);
            done = flag != 0;
        }
    };
    const ticket t = attach_pending(n, c);
    world.complete(t);
    EXPECT_TRUE(eventually([&] { return n.runs == 1; }));
    EXPECT_TRUE(done);
}

TEST_P(where_callbacks_run, enqueue_complete_never_reports_immediate_completion) {
    cr c(THENCE_CR_ENQUEUE_COMPLETE);
    note n;
    MPI_Request r = world.start();
    world.complete(r, {4});
    MPI_Status status{};
    EXPECT_EQ(attach(r, n, c, &status), 0);
    EXPECT_EQ(n.runs, 0) << "not inside attach, either";
    EXPECT_TRUE(eventually([&] { return n.runs == 1; }));
    EXPECT_EQ(status.MPI_SOURCE, 4);
    MPI_Request q = world.start();
    world.complete(q);
    note m;
    EXPECT_EQ(thence_attach(1, &q, &note::run, &m, 0, MPI_STATUS_IGNORE, c, nullptr), MPI_SUCCESS)
        << "flag may be null";
    EXPECT_TRUE(eventually([&] { return m.runs == 1; }));
}

TEST_P(where_callbacks_run, may_run_runs_inside_attaching_when_all_is_complete) {
    cr c;
    note n;
    MPI_Request r = world.start();
    world.complete(r, {4});
    MPI_Status status{};
    EXPECT_EQ(attach(r, n, c, &status, THENCE_MAY_RUN), 0);
    EXPECT_EQ(n.runs, 1);
    EXPECT_EQ(status.MPI_SOURCE, 4);
    EXPECT_TRUE(c.test());
}

TEST_P(where_callbacks_run, may_run_inside_a_callback_runs_after_it) {
    cr c;
    note inner;
    note outer;
    int runs_inside = -1;
    outer.inside = [&] {
        MPI_Request r = world.start();
        world.complete(r);
        EXPECT_EQ(attach(r, inner, c, MPI_STATUS_IGNORE, THENCE_MAY_RUN), 0);
        runs_inside = inner.runs;
    };
    MPI_Request r = world.start();
    world.complete(r);
    attach(r, outer, c, MPI_STATUS_IGNORE, THENCE_MAY_RUN);
    EXPECT_EQ(runs_inside, 0);
    EXPECT_TRUE(eventually([&] { return inner.runs == 1; }));
}

TEST_P(where_callbacks_run, may_run_on_a_poll_only_cr_waits_for_its_test) {
    cr c(THENCE_CR_POLL_ONLY);
    note n;
    MPI_Request r = world.start();
    world.complete(r);
    EXPECT_EQ(attach(r, n, c, MPI_STATUS_IGNORE, THENCE_MAY_RUN), 0);
    let_run();
    EXPECT_EQ(n.runs, 0);
    EXPECT_TRUE(c.test());
    EXPECT_EQ(n.runs, 1);
}

TEST_P(where_callbacks_run, a_may_run_callback_may_cancel_and_test_its_cr) {
    cr c;
    note pending;
    MPI_Request q = world.start();
    attach(q, pending, c);
    note n;
    n.inside = [&] {
        MPI_Request handle = c;
        EXPECT_EQ(thence_cancel(&handle), MPI_SUCCESS);
        int flag = 0;
        EXPECT_EQ(thence_test(&handle, &flag, MPI_STATUS_IGNORE), MPI_SUCCESS);
    };
    MPI_Request r = world.start();
    world.complete(r);
    attach(r, n, c, MPI_STATUS_IGNORE, THENCE_MAY_RUN);
    EXPECT_EQ(n.runs, 1);
    EXPECT_TRUE(eventually([&] { return pending.runs == 1; }));
}

THENCE_RULES(where_callbacks_run);
THENCE_RULES_WHERE(where_a_hook_runs_callbacks, [](const variant &v) { return v.hook; });
THENCE_RULES_WHERE(where_the_hook_holds_a_lock, [](const variant &v) { return v.offers.async_start; });

} // namespace
