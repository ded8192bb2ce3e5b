// SPDX-License-Identifier: BSD-3-Clause
// Chosen interleavings of the native engine with Open MPI's completion: attaching, polling and cancelling between the
// steps of a completion, on one thread.
#include "library.hpp"

namespace {

using namespace thence::fake;

#if defined(OPEN_MPI) // no other MPI has such a completion path

class schedules : public ::testing::Test {
protected:
    // Calls `act` once, at that step of the next completion.
    void at(step where, std::function<void()> act) {
        world.at_step = [this, where, act = std::move(act)](step now, MPI_Request) {
            if (now == where && !acted_) {
                acted_ = true;
                act();
            }
        };
    }
    void expect_one_run(cr &c, note &n, unsigned long long recovered) {
        EXPECT_TRUE(acted_);
        EXPECT_EQ(thence_wait(&c, MPI_STATUS_IGNORE), MPI_SUCCESS);
        EXPECT_EQ(n.runs, 1);
        EXPECT_EQ(stats().recovered, recovered);
    }

    library library_{all_variants().front()};
    bool acted_ = false;
};

TEST_F(schedules, attached_before_the_callback_is_read_it_is_called) {
    cr c;
    note n;
    MPI_Request r = world.start();
    const ticket t = world.ticket_of(r);
    int flag = -1;
    at(step::before_callback, [&] { flag = attach(r, n, c); });
    world.complete(t);
    EXPECT_EQ(flag, 0);
    expect_one_run(c, n, 0);
}

TEST_F(schedules, attached_after_the_callback_is_read_it_is_found_by_the_count) {
    cr c;
    note n;
    MPI_Status status{};
    MPI_Request r = world.start();
    const ticket t = world.ticket_of(r);
    int flag = -1;
    at(step::saw_none, [&] { flag = attach(r, n, c, &status); });
    world.complete(t, {9});
    EXPECT_EQ(flag, 0);
    EXPECT_EQ(n.runs, 0);
    expect_one_run(c, n, 1);
    EXPECT_EQ(status.MPI_SOURCE, 9);
}

TEST_F(schedules, a_failed_one_is_found_too_although_it_zeroes_the_count) {
    cr c;
    note n;
    MPI_Status status{};
    MPI_Request r = world.start();
    const ticket t = world.ticket_of(r);
    at(step::saw_none, [&] { attach(r, n, c, &status); });
    world.complete(t, {0, 0, 0, MPI_ERR_TRUNCATE});
    expect_one_run(c, n, 1);
    EXPECT_EQ(n.error, MPI_ERR_TRUNCATE);
    EXPECT_EQ(status.MPI_ERROR, MPI_ERR_TRUNCATE);
    EXPECT_EQ(reported(), codes{MPI_ERR_TRUNCATE});
}

TEST_F(schedules, attached_after_the_mark_it_is_complete_at_once) {
    cr c;
    note n;
    MPI_Request r = world.start();
    world.complete(r);
    EXPECT_EQ(attach(r, n, c), 1);
    let_run();
    EXPECT_EQ(n.runs, 0);
    EXPECT_EQ(stats().recovered, 0U);
}

TEST_F(schedules, a_poll_between_the_mark_and_the_count_does_not_lose_it) {
    cr c;
    note n;
    MPI_Request r = world.start();
    const ticket t = world.ticket_of(r);
    bool attached = false;
    world.at_step = [&](step now, MPI_Request) {
        if (now == step::saw_none && !attached) {
            attached = true;
            EXPECT_EQ(attach(r, n, c), 0);
        } else if (now == step::marked) {
            acted_ = true;
            let_run(); // no loss is counted yet
        }
    };
    world.complete(t);
    expect_one_run(c, n, 1);
}

TEST_F(schedules, a_loss_during_a_search_is_found_by_the_next_poll) {
    // The push of the second request is lost after the search for the first one has passed it: its continuation is
    // attached in a callback that this search has caused, in the race window of its own completion.
    cr c;
    note first;
    note second;
    MPI_Request a = world.start();
    MPI_Request b = world.start();
    const ticket ta = world.ticket_of(a);
    const ticket tb = world.ticket_of(b);
    int windows = 0;
    world.at_step = [&](step now, MPI_Request which) {
        if (now == step::saw_none && which == handle_of(*ta.q)) {
            ++windows;
            attach(a, first, c);
        } else if (now == step::saw_none && which == handle_of(*tb.q)) {
            ++windows;
            attach(b, second, c);
        }
    };
    first.inside = [&] { world.complete(tb); };
    world.complete(ta);
    EXPECT_EQ(thence_wait(&c, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(windows, 2);
    EXPECT_EQ(first.runs, 1);
    EXPECT_EQ(second.runs, 1);
    EXPECT_EQ(stats().recovered, 2U);
}

TEST_F(schedules, many_losses_are_found_by_one_search) {
    cr c;
    note n;
    constexpr int many = 100;
    std::vector<MPI_Request> requests;
    std::vector<ticket> tickets;
    for (int i = 0; i < many; ++i) {
        requests.push_back(world.start());
        tickets.push_back(world.ticket_of(requests.back()));
    }
    std::size_t next = 0;
    world.at_step = [&](step now, MPI_Request) {
        if (now == step::saw_none) {
            EXPECT_EQ(attach(requests[next], n, c), 0);
        }
    };
    for (; next < tickets.size(); ++next) {
        world.complete(tickets[next]);
    }
    EXPECT_EQ(n.runs, 0);
    let_run();
    EXPECT_EQ(n.runs, many);
    EXPECT_EQ(stats().recovered, static_cast<unsigned long long>(many));
    EXPECT_TRUE(c.test());
}

TEST_F(schedules, lost_operations_of_a_group_are_found) {
    cr c;
    note n;
    std::vector<MPI_Request> group{world.start(), world.start()};
    const ticket a = world.ticket_of(group[0]);
    const ticket b = world.ticket_of(group[1]);
    at(step::saw_none, [&] { EXPECT_EQ(attach(group, n, c), 0); });
    world.complete(a); // the push is lost
    let_run();
    EXPECT_EQ(n.runs, 0);
    world.complete(b); // the push arrives
    expect_one_run(c, n, 1);
}

TEST_F(schedules, cancelled_in_the_window_it_runs_once) {
    cr c;
    note n;
    MPI_Request r = world.start();
    const ticket t = world.ticket_of(r);
    at(step::saw_none, [&] {
        EXPECT_EQ(attach(r, n, c), 0);
        EXPECT_EQ(thence_cancel(&c), MPI_SUCCESS);
    });
    world.complete(t);
    expect_one_run(c, n, 1);
}

TEST_F(schedules, freed_in_the_window_it_still_runs) {
    note n;
    MPI_Request r = world.start();
    const ticket t = world.ticket_of(r);
    at(step::saw_none, [&] {
        cr c;
        EXPECT_EQ(attach(r, n, c), 0);
    });
    world.complete(t);
    EXPECT_TRUE(acted_);
    EXPECT_TRUE(eventually([&] { return n.runs == 1; }));
    EXPECT_EQ(stats().recovered, 1U);
}

TEST_F(schedules, a_callback_slot_that_mpi_uses_itself_is_left_alone) {
    static int called;
    called = 0;
    cr c;
    note n;
    MPI_Request r = world.start(kind::collective);
    const ticket t = world.ticket_of(r);
    constexpr auto mpis_own = +[](void *) {
        ++called;
        return 0;
    };
    t.q->callback.store(reinterpret_cast<void *>(mpis_own));
    EXPECT_EQ(attach(r, n, c), 0);
    EXPECT_EQ(t.q->callback.load(), reinterpret_cast<void *>(mpis_own));
    EXPECT_EQ(t.q->complete.load(), not_complete);
    world.complete(t);
    EXPECT_EQ(called, 1);
    EXPECT_EQ(thence_wait(&c, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(n.runs, 1);
}

TEST_F(schedules, a_persistent_request_carries_nothing_of_ours) {
    cr c;
    note n;
    MPI_Request r = world.persistent();
    thence::mpi::table.Start(&r);
    EXPECT_EQ(attach(r, n, c), 0);
    const request &q = *find_request(r);
    EXPECT_EQ(q.callback.load(), nullptr);
    EXPECT_EQ(q.complete.load(), not_complete) << "the user's own wait must not return early";
    world.complete(r);
    EXPECT_EQ(thence_wait(&c, MPI_STATUS_IGNORE), MPI_SUCCESS);
    thence::mpi::table.Request_free(&r);
}

#endif

} // namespace
