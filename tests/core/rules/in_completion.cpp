// SPDX-License-Identifier: BSD-3-Clause
// THENCE_CR_IN_COMPLETION: callbacks run inside MPI's progress, each before MPI completes the next operation. Where
// that does not hold: in_completion_limits.cpp.
#include "in_completion.hpp"

#include <atomic>
#include <deque>
#include <thread>

namespace {

using namespace thence::fake;

class in_completion : public in_completion_fixture {};

TEST_P(in_completion, a_callback_runs_before_mpi_completes_the_next_operation) {
    for (const unsigned flags : {flag, 0U}) {
        cr c(flags | THENCE_CR_ENQUEUE_COMPLETE);
        noted a(*this, 'a');
        noted b(*this, 'b');
        MPI_Request first = start('A');
        MPI_Request second = start('B');
        world.complete_in_progress(first);
        world.complete_in_progress(second);
        attach(first, a, c);
        attach(second, b, c);
        long ran = 0;
        ASSERT_EQ(thence_progress_some(&ran), MPI_SUCCESS);
        if (in_force_) {
            EXPECT_EQ(order_, flags != 0 ? "AaBb" : "ABab");
            EXPECT_EQ(ran, 2);
        }
        EXPECT_TRUE(eventually([&] { return a.runs == 1 && b.runs == 1; }));
        EXPECT_TRUE(c.test());
        order_.clear();
    }
}

TEST_P(in_completion, operations_that_its_callbacks_start_complete_in_the_same_progress) {
    cr c(flag | THENCE_CR_ENQUEUE_COMPLETE);
    struct chain {
        MPI_Request c;
        int left;
        static int next(int, MPI_Status *, void *data) {
            auto *self = static_cast<chain *>(data);
            if (--self->left > 0) {
                self->go_on();
            }
            return MPI_SUCCESS;
        }
        void go_on() {
            MPI_Request r = world.start();
            const ticket t = world.ticket_of(r);
            EXPECT_EQ(thence_attach(1, &r, next, this, 0, MPI_STATUSES_IGNORE, c, nullptr), MPI_SUCCESS);
            world.complete_in_progress(t);
        }
    } messages{c, 100};
    messages.go_on();
    long ran = 0;
    EXPECT_EQ(thence_progress_some(&ran), MPI_SUCCESS);
    if (in_force_) {
        EXPECT_EQ(messages.left, 0) << "all in one call of progress";
        EXPECT_EQ(ran, 100);
    }
    EXPECT_TRUE(eventually([&] { return messages.left == 0; }));
    EXPECT_TRUE(c.test());
}

TEST_P(in_completion, a_wait_and_a_test_run_them_too) {
    for (const bool waits : {true, false}) {
        cr c(flag);
        two_operations both(*this, c);
        both.complete_in_progress();
        if (waits) {
            EXPECT_EQ(thence_wait(&c, MPI_STATUS_IGNORE), MPI_SUCCESS);
        } else {
            EXPECT_TRUE(eventually([&] { return c.test(); }));
        }
        expect_in_turn(both);
        order_.clear();
    }
}

TEST_P(in_completion, a_wait_that_lasts_runs_them_too) {
    cr c(flag);
    two_operations both(*this, c);
    std::atomic<bool> waits{false};
    const unsigned long long calls = world.progress_calls;
    std::thread other([&] {
        while (!waits || world.progress_calls < calls + 100) {
            std::this_thread::yield();
        }
        both.complete_in_progress();
    });
    waits = true;
    EXPECT_EQ(thence_wait(&c, MPI_STATUS_IGNORE), MPI_SUCCESS);
    other.join();
    expect_in_turn(both);
}

TEST_P(in_completion, a_test_of_several_runs_them_too) {
    cr c(flag);
    cr other;
    two_operations both(*this, c);
    both.complete_in_progress();
    int done = 0;
    MPI_Request crs[] = {c, other};
    EXPECT_TRUE(
        eventually_with([&] { return MPI_Testall(2, crs, &done, MPI_STATUSES_IGNORE) == MPI_SUCCESS && done; }));
    expect_in_turn(both);
}

TEST_P(in_completion, max_poll_of_another_cr_bounds_the_callbacks_of_its_test) {
    cr c(flag);
    cr bounded(0, 1);
    std::deque<note> notes(4);
    for (note &n : notes) {
        const ticket t = attach_pending(n, c);
        world.complete_in_progress(t);
    }
    note last;
    const ticket t = attach_pending(last, bounded);
    const auto runs = [&] {
        int sum = last.runs;
        for (const note &n : notes) {
            sum += n.runs;
        }
        return sum;
    };
    for (int before = runs(), i = 0; i < 3; ++i, before = runs()) {
        EXPECT_FALSE(bounded.test());
        EXPECT_LE(runs() - before, 1);
    }
    world.complete(t);
    EXPECT_TRUE(eventually([&] { return runs() == 5; }));
}

THENCE_RULES(in_completion);

} // namespace
