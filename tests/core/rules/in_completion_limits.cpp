// SPDX-License-Identifier: BSD-3-Clause
// THENCE_CR_IN_COMPLETION: where it is in force, which callbacks run later all the same, and what a callback must not
// do.
#include "in_completion.hpp"

#include "core/progress/progress.hpp"

#include <algorithm>
#include <deque>
#include <vector>

namespace {

using namespace thence::fake;

class in_completion_limits : public in_completion_fixture {};

TEST_P(in_completion_limits, is_in_force_only_where_it_can_be) {
    EXPECT_EQ(in_force(cr(flag)), in_force_ ? flag : 0U);
    EXPECT_EQ(in_force(cr(flag | THENCE_CR_ANY_THREAD)) & flag, in_force_ ? flag : 0U);
    EXPECT_EQ(in_force(cr(flag | THENCE_CR_POLL_ONLY)), THENCE_CR_POLL_ONLY);
    EXPECT_EQ(in_force(cr(flag | THENCE_CR_NEEDS_START)), THENCE_CR_NEEDS_START);
    EXPECT_EQ(in_force(cr(flag, 3)), 0U) << "at most three in a test";
}

// A worker that polls in place of the helper shares the lock that every cancel needs alone. The helper may be first; it
// pauses longer while workers poll.
TEST_P(in_completion_limits, a_callback_of_a_worker_that_helps_may_cancel) {
    cr c(THENCE_CR_ANY_THREAD | flag);
    for (int round = 0; round < 20; ++round) {
        note loses;
        MPI_Request losing = world.start(kind::point_to_point);
        attach(losing, loses, c);
        note wins;
        wins.inside = [&c] { EXPECT_EQ(thence_cancel(&c), MPI_SUCCESS); };
        MPI_Request winning = world.start(kind::point_to_point);
        const ticket t = world.ticket_of(winning);
        attach(winning, wins, c);
        world.complete_in_progress(t);
        EXPECT_TRUE(eventually([&] {
            thence::progress::help_while_idle();
            return wins.runs == 1 && loses.runs == 1;
        }));
        EXPECT_TRUE(eventually([&] { return c.registered() == 0; }));
    }
}

TEST_P(in_completion_limits, a_callback_may_cancel) {
    cr c(flag);
    note cancelled;
    MPI_Request victim = world.start();
    attach(victim, cancelled, c);
    note n;
    n.inside = [&] {
        MPI_Request handle = c;
        EXPECT_EQ(thence_cancel(&handle), MPI_SUCCESS);
    };
    const ticket t = attach_pending(n, c);
    world.complete_in_progress(t);
    EXPECT_TRUE(eventually([&] { return n.runs == 1 && cancelled.runs == 1; }));
}

TEST_P(in_completion_limits, nothing_runs_in_a_call_that_is_no_progress_call) {
    cr c(flag);
    noted a(*this, 'a');
    MPI_Request r = start('A');
    const ticket t = world.ticket_of(r);
    attach(r, a, c);
    world.complete(t); // as if the program were starting another operation, perhaps under a lock of its own
    EXPECT_EQ(a.runs, 0);
    EXPECT_TRUE(eventually([&] { return a.runs == 1; }));
}

TEST_P(in_completion_limits, none_runs_inside_another_nor_inside_attaching) {
    cr c(flag);
    int depth = 0;
    int deepest = 0;
    std::deque<note> notes(6);
    std::vector<ticket> later;
    for (note &n : notes) {
        const ticket t = attach_pending(n, c);
        (later.size() < 3 ? world.complete_in_progress(t) : (void)0);
        later.push_back(t);
        n.inside = [&] {
            deepest = std::max(deepest, ++depth);
            for (std::size_t i = 3; i < later.size(); ++i) {
                world.complete(later[i]); // as if the callback had started an operation that completes it
            }
            --depth;
        };
    }
    EXPECT_TRUE(eventually([&] { return c.test(); }));
    for (const note &n : notes) {
        EXPECT_EQ(n.runs, 1);
    }
    EXPECT_EQ(deepest, 1);
}

TEST_P(in_completion_limits, callbacks_of_groups_and_of_collectives_run_after_the_progress) {
    cr c(flag);
    noted group(*this, 'g');
    noted other(*this, 'o');
    std::vector<MPI_Request> two{start('1'), start('2')};
    MPI_Request collective = start('O', kind::collective);
    MPI_Request last = start('L');
    std::vector<ticket> tickets;
    for (const MPI_Request r : {two[0], two[1], collective, last}) {
        tickets.push_back(world.ticket_of(r));
    }
    attach(two, group, c);
    attach(collective, other, c);
    note end;
    attach(last, end, c);
    for (const ticket &t : tickets) {
        world.complete_in_progress(t);
    }
    let_all_run();
    EXPECT_EQ(group.runs + other.runs + end.runs, 3);
    EXPECT_EQ(order_.substr(0, 4), "12OL");
}

// MPI may hold a lock when it fails operations, for example those of a rank that is lost.
TEST_P(in_completion_limits, a_failed_operation_runs_its_callback_with_the_error_after_the_progress) {
    cr c(flag);
    noted n(*this, 'a');
    noted next(*this, 'b');
    MPI_Request r = start('A');
    MPI_Request second = start('B');
    ticket t = world.ticket_of(r);
    const ticket pending_one = world.ticket_of(second);
    result failed;
    failed.error = MPI_ERR_TRUNCATE;
    MPI_Status status{};
    attach(r, n, c, &status);
    attach(second, next, c);
    world.complete_in_progress(t, failed);
    world.complete_in_progress(pending_one);
    EXPECT_TRUE(eventually([&] { return n.runs == 1 && next.runs == 1; }));
    if (in_force_) {
        EXPECT_EQ(order_, "ABba");
    }
    EXPECT_EQ(n.error, MPI_ERR_TRUNCATE);
    EXPECT_EQ(status.MPI_ERROR, MPI_ERR_TRUNCATE);
    reported();

    cr kept(flag | THENCE_CR_REPORT_FAILED);
    note m;
    r = world.start();
    t = world.ticket_of(r);
    attach(r, m, kept);
    world.complete_in_progress(t, failed);
    let_all_run();
    int count = 1;
    void *data = nullptr;
    EXPECT_EQ(thence_get_failed(kept, &count, &data), MPI_SUCCESS);
    EXPECT_EQ(count, 1);
    EXPECT_EQ(data, &m);
    EXPECT_EQ(m.runs, 0);
    int done = 0;
    thence_test(&kept, &done, MPI_STATUS_IGNORE);
    reported();
}

TEST_P(in_completion_limits, its_cr_may_be_freed_before_and_inside_a_callback) {
    note n;
    MPI_Request r = world.start();
    const ticket t = world.ticket_of(r);
    {
        cr c(flag);
        attach(r, n, c);
    }
    world.complete_in_progress(t);
    EXPECT_TRUE(eventually([&] { return n.runs == 1; }));

    MPI_Request c = MPI_REQUEST_NULL;
    ASSERT_EQ(thence_cr_create(flag, -1, MPI_INFO_NULL, &c), MPI_SUCCESS);
    note m;
    m.inside = [&] { EXPECT_EQ(thence_free(&c), MPI_SUCCESS); };
    r = world.start();
    const ticket again = world.ticket_of(r);
    attach(r, m, c);
    world.complete_in_progress(again);
    EXPECT_TRUE(eventually([&] { return m.runs == 1; }));
}

// No other thread can make progress while the callback runs, so a blocking call in it would never return.
TEST_P(in_completion_limits, a_blocking_call_in_a_callback_is_reported) {
    if (!in_force_) {
        return; // callbacks do not run inside MPI's progress there
    }
    cr c(flag);
    cr other;
    note pending;
    const ticket pending_one = attach_pending(pending, other);
    note n;
    n.inside = [&] {
        const auto calls = world.progress_calls.load();
        let_run();
        int done = -1;
        EXPECT_EQ(thence_test(&other, &done, MPI_STATUS_IGNORE), MPI_ERR_PENDING);
        EXPECT_EQ(thence_wait(&other, MPI_STATUS_IGNORE), MPI_ERR_PENDING);
        EXPECT_EQ(world.progress_calls, calls) << "MPI is not entered again";
        EXPECT_EQ(reported(), (codes{MPI_ERR_PENDING, MPI_ERR_PENDING}));
        const auto expect_report = [](const char *what, const std::function<void(MPI_Request &)> &call) {
            MPI_Request complete = world.start();
            world.complete(complete); // so that the call returns
            testing::internal::CaptureStderr();
            call(complete);
            const std::string text = testing::internal::GetCapturedStderr();
            EXPECT_EQ(reported(), codes{MPI_ERR_PENDING}) << what;
            EXPECT_NE(text.find("has called MPI_" + std::string(what) + ", which blocks"), std::string::npos) << text;
            EXPECT_NE(text.find("THENCE_CR_IN_COMPLETION"), std::string::npos) << what << ": " << text;
        };
        int i = 0;
        expect_report("Wait", [](MPI_Request &r) { MPI_Wait(&r, MPI_STATUS_IGNORE); });
        expect_report("Waitall", [](MPI_Request &r) { MPI_Waitall(1, &r, MPI_STATUSES_IGNORE); });
        expect_report("Waitany", [&](MPI_Request &r) { MPI_Waitany(1, &r, &i, MPI_STATUS_IGNORE); });
        expect_report("Waitsome", [&](MPI_Request &r) { MPI_Waitsome(1, &r, &i, &done, MPI_STATUSES_IGNORE); });
    };
    MPI_Request r = world.start();
    world.complete_in_progress(r);
    attach(r, n, c);
    let_run();
    EXPECT_EQ(n.runs, 1);
    world.complete(pending_one);
    EXPECT_TRUE(eventually([&] { return pending.runs == 1; }));
}

THENCE_RULES(in_completion_limits);

#if defined(OPEN_MPI)

class other_open_mpi : public testing::Test {
protected:
    static unsigned flags_with(const features &what) {
        const variant made{"another", "openmpi", what, true};
        library set_up(made);
        return in_force(cr(flag));
    }
    static features usual() {
        features what;
        what.opal_progress = true;
        return what;
    }
};

TEST_F(other_open_mpi, supports_it_only_with_the_known_layer_and_several_threads) {
    EXPECT_EQ(flags_with(usual()), flag);
    for (const char *layer : {"ucx", "cm", "ob10", ""}) {
        features what = usual();
        what.messages_through = layer;
        EXPECT_EQ(flags_with(what), 0U) << layer;
    }
    features what = usual();
    what.describes_layer_as = "btl";
    EXPECT_EQ(flags_with(what), 0U) << "the description is an unknown one";
    what = usual();
    what.messages_through = nullptr;
    EXPECT_EQ(flags_with(what), 0U);
    what = usual();
    what.thread_level = MPI_THREAD_SERIALIZED;
    EXPECT_EQ(flags_with(what), 0U);
}

#endif

} // namespace
