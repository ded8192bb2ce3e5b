// SPDX-License-Identifier: BSD-3-Clause
// poll_only and max_poll: which calls run continuations, and how many.
#include "library.hpp"
#include "sleeps.hpp"

#include <thence/adapter.hpp>

#include <chrono>

namespace {

using namespace thence::fake;

class polling : public on_fake {
protected:
    // `n` continuations that are ready to run.
    void ready(int n, note &target, MPI_Request c) {
        for (int i = 0; i < n; ++i) {
            const ticket t = attach_pending(target, c);
            world.complete(t);
        }
    }
};

TEST_P(polling, poll_only_runs_only_when_tested) {
    cr c(THENCE_CR_POLL_ONLY);
    cr other;
    note n;
    ready(1, n, c);
    std::thread([&] { let_run(); }).join();
    let_run();
    world.progress();
    EXPECT_TRUE(other.test());
    EXPECT_EQ(n.runs, 0) << "neither other calls nor other CRs run it";
    EXPECT_TRUE(c.test());
    EXPECT_EQ(n.runs, 1);
    EXPECT_EQ(n.thread, std::this_thread::get_id());
}

TEST_P(polling, poll_only_runs_when_waited_for) {
    cr c(THENCE_CR_POLL_ONLY);
    note n;
    ready(3, n, c);
    EXPECT_EQ(thence_wait(&c, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(n.runs, 3);
}

TEST_P(polling, request_get_status_runs_it_as_a_test_does_and_does_not_report_it) {
    cr c(THENCE_CR_POLL_ONLY | THENCE_CR_NEEDS_START);
    MPI_Start(&c);
    note n;
    const ticket t = attach_pending(n, c);
    int flag = -1;
    EXPECT_EQ(MPI_Request_get_status(c, &flag, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(flag, 0);
    world.complete(t);
    MPI_Status status{};
    EXPECT_EQ(MPI_Request_get_status(c, &flag, &status), MPI_SUCCESS);
    EXPECT_EQ(flag, 1);
    EXPECT_EQ(status.MPI_SOURCE, MPI_ANY_SOURCE);
    EXPECT_EQ(n.runs, 1);
    thence_cr_info info{};
    thence_cr_query(c, &info, sizeof info);
    EXPECT_EQ(info.active, 1) << "only a test or a wait makes it inactive";
    EXPECT_TRUE(c.test());
    thence_cr_query(c, &info, sizeof info);
    EXPECT_EQ(info.active, 0);
}

TEST_P(polling, max_poll_bounds_one_request_get_status) {
    cr c(THENCE_CR_POLL_ONLY, 2);
    note n;
    ready(5, n, c);
    for (int flag = 0, before = 0; flag == 0; before = n.runs) {
        ASSERT_EQ(MPI_Request_get_status(c, &flag, MPI_STATUS_IGNORE), MPI_SUCCESS);
        ASSERT_LE(n.runs - before, 2);
        ASSERT_GT(n.runs, before);
    }
    EXPECT_EQ(n.runs, 5);
    EXPECT_TRUE(c.test());
}

TEST_P(polling, one_test_finds_and_runs_what_is_complete) {
    cr c(THENCE_CR_POLL_ONLY);
    note n;
    ready(1, n, c);
    EXPECT_TRUE(c.test()) << "no second test is needed";
}

TEST_P(polling, max_poll_bounds_one_test) {
    for (const unsigned flags : {0U, unsigned{THENCE_CR_POLL_ONLY}}) {
        cr c(flags, 3);
        note n;
        ready(10, n, c);
        int before = 0;
        for (int i = 0; i < 20 && n.runs < 10; ++i) {
            c.test();
            EXPECT_LE(n.runs - before, 3) << "test " << i;
            before = n.runs;
        }
        EXPECT_EQ(n.runs, 10) << "each test that can run something does";
        EXPECT_TRUE(c.test());
    }
}

TEST_P(polling, progress_tells_how_many_it_ran) {
    cr c(0, 1); // limits tests, not thence_progress_some()
    cr only_polled(THENCE_CR_POLL_ONLY);
    note n;
    long ran = 77;
    EXPECT_EQ(thence_progress_some(&ran), MPI_SUCCESS);
    EXPECT_EQ(ran, 0);
    ready(3, n, c);
    ready(1, n, only_polled);
    long all = 0;
    for (int i = 0; i < 5; ++i) { // an engine that polls may find some in one call and run them in the next
        EXPECT_EQ(thence_progress_some(&ran), MPI_SUCCESS);
        all += ran;
        EXPECT_EQ(all, n.runs);
    }
    EXPECT_EQ(all, 3);
    EXPECT_TRUE(only_polled.test());
}

TEST_P(polling, progress_until_sleeps_only_where_polls_find_nothing) {
    struct chain { // each continuation attaches the next one
        MPI_Request c;
        int left;
        static int next(int, MPI_Status *, void *data) {
            auto *self = static_cast<chain *>(data);
            if (--self->left > 0) {
                self->attach();
            }
            return MPI_SUCCESS;
        }
        void attach() {
            MPI_Request r = world.start();
            world.complete_in_progress(r);
            EXPECT_EQ(thence_attach(1, &r, next, this, 0, MPI_STATUSES_IGNORE, c, nullptr), MPI_SUCCESS);
        }
    };
    cr c(THENCE_CR_ENQUEUE_COMPLETE);
    chain messages{c, 2000};
    const unsigned long before = sleeps_here();
    messages.attach();
    thence::progress_until([&] { return messages.left == 0; });
    const unsigned long between = sleeps_here();
    EXPECT_LT(between - before, 200U);
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    thence::progress_until([&] { return sleeps_here() > between || std::chrono::steady_clock::now() > end; });
    EXPECT_GT(sleeps_here(), between);
}

TEST_P(polling, no_limit_runs_everything_in_one_test) {
    cr c(THENCE_CR_POLL_ONLY, -1);
    note n;
    ready(20, n, c); // no more than one poll tests
    EXPECT_TRUE(c.test());
    EXPECT_EQ(n.runs, 20);
}

TEST_P(polling, max_poll_zero_runs_nothing_in_a_test_but_elsewhere) {
    cr c(0, 0);
    note n;
    ready(1, n, c);
    const int before = n.runs; // a hook may have run it while attaching the next
    for (int i = 0; i < 3; ++i) {
        c.test();
    }
    EXPECT_EQ(n.runs, before);
    let_run();
    EXPECT_EQ(n.runs, 1);
    EXPECT_TRUE(c.test());
}

TEST_P(polling, wait_with_max_poll_runs_everything) {
    cr c(THENCE_CR_POLL_ONLY, 2);
    note n;
    ready(9, n, c);
    EXPECT_EQ(thence_wait(&c, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(n.runs, 9);
}

TEST_P(polling, many_outstanding_are_all_found) {
    cr c;
    note n;
    constexpr int many = 300; // more than one poll tests
    std::vector<ticket> tickets;
    for (int i = 0; i < many; ++i) {
        MPI_Request r = world.start();
        tickets.push_back(world.ticket_of(r));
        ASSERT_EQ(attach(r, n, c), 0);
    }
    for (std::size_t i = 0; i < tickets.size(); i += 2) {
        world.complete(tickets[i]);
    }
    EXPECT_TRUE(eventually([&] { return n.runs == many / 2; }));
    for (std::size_t i = 1; i < tickets.size(); i += 2) {
        world.complete(tickets[i]);
    }
    EXPECT_EQ(thence_wait(&c, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(n.runs, many);
}

TEST_P(polling, a_poll_costs_no_more_with_more_outstanding) {
    cr c;
    note n;
    std::vector<ticket> tickets;
    const auto looked_at = [&](std::size_t outstanding) {
        while (tickets.size() < outstanding) {
            MPI_Request r = world.start();
            tickets.push_back(world.ticket_of(r));
            ASSERT_EQ(attach(r, n, c), 0);
        }
        for (int i = 0; i < 5; ++i) {
            let_run();
        }
    };
    const auto cost = [&](std::size_t outstanding) {
        looked_at(outstanding);
        const unsigned long long before = world.completing_calls;
        for (int i = 0; i < 100; ++i) {
            let_run();
        }
        return (world.completing_calls - before) / 100;
    };
    const auto some = cost(256); // more than one poll tests, so that each poll tests its maximum
    const auto many = cost(4000);
    EXPECT_LE(many, some + some / 4);
    for (const ticket &t : tickets) {
        world.complete(t);
    }
    EXPECT_EQ(thence_wait(&c, MPI_STATUS_IGNORE), MPI_SUCCESS);
}

THENCE_RULES(polling);

} // namespace
