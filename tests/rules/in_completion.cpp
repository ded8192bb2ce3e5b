// SPDX-License-Identifier: BSD-3-Clause
// THENCE_CR_IN_COMPLETION: which callbacks may run in the middle of MPI's progress, and what they may do there.
#include "library.hpp"

#include "continuation/request.hpp"
#include "engine/engine.hpp"

#include <cstring>

namespace {

using namespace thence::fake;

constexpr unsigned flag = THENCE_CR_IN_COMPLETION;

unsigned in_force(MPI_Request c) {
    thence_cr_info info{};
    EXPECT_EQ(thence_cr_query(c, &info, sizeof info), MPI_SUCCESS);
    return info.flags;
}

// On every MPI the option changes nothing but the order.
class promised : public on_fake {
protected:
    void SetUp() override {
        in_force_ = std::strcmp(thence::engine::current->name(), "openmpi") == 0;
        world.at_step = [this](step where, MPI_Request request) {
            if (where == step::before_callback) {
                order_ += names_.count(request) != 0 ? names_.at(request) : '?';
            }
        };
    }
    void TearDown() override { world.at_step = nullptr; }

    // An operation whose completion is noted as a capital letter, and its callback as a small one.
    MPI_Request start(char name, kind what = kind::point_to_point) {
        MPI_Request r = world.start(what);
        names_[r] = name;
        return r;
    }
    struct noted : note {
        noted(promised &test, char small) {
            inside = [&test, small] { test.order_ += small; };
        }
    };
    struct two_operations {
        two_operations(promised &test, MPI_Request c) : a(test, 'a'), b(test, 'b') {
            MPI_Request first = test.start('A');
            MPI_Request second = test.start('B');
            tickets[0] = world.ticket_of(first);
            tickets[1] = world.ticket_of(second);
            attach(first, a, c);
            attach(second, b, c);
        }
        void complete_in_progress() const {
            world.complete_in_progress(tickets[0]);
            world.complete_in_progress(tickets[1]);
        }
        noted a;
        noted b;
        ticket tickets[2];
    };
    void expect_in_turn(const two_operations &both) const {
        EXPECT_EQ(both.a.runs + both.b.runs, 2);
        if (in_force_) {
            EXPECT_EQ(order_, "AaBb");
        }
    }
    // No other call makes progress than the one in `done`.
    static bool eventually_with(const std::function<bool()> &done) {
        for (int i = 0; i < 1000; ++i) {
            if (done()) {
                return true;
            }
        }
        return false;
    }
    void let_all_run() {
        for (int i = 0; i < 5; ++i) {
            let_run();
        }
    }

    bool in_force_ = false;
    std::string order_;
    std::map<MPI_Request, char> names_;
};

TEST_P(promised, is_in_force_only_where_it_can_be) {
    EXPECT_EQ(in_force(cr(flag)), in_force_ ? flag : 0U);
    EXPECT_EQ(in_force(cr(flag | THENCE_CR_ANY_THREAD)) & flag, in_force_ ? flag : 0U);
    EXPECT_EQ(in_force(cr(flag | THENCE_CR_POLL_ONLY)), THENCE_CR_POLL_ONLY);
    EXPECT_EQ(in_force(cr(flag | THENCE_CR_NEEDS_START)), THENCE_CR_NEEDS_START);
    EXPECT_EQ(in_force(cr(flag, 3)), 0U) << "at most three in a test";
}

TEST_P(promised, a_callback_runs_before_mpi_completes_the_next_operation) {
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

TEST_P(promised, its_callbacks_start_operations_that_go_on_at_once) {
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
        EXPECT_EQ(messages.left, 0) << "all in one round of progress";
        EXPECT_EQ(ran, 100);
    }
    EXPECT_TRUE(eventually([&] { return messages.left == 0; }));
    EXPECT_TRUE(c.test());
}

TEST_P(promised, a_wait_and_a_test_run_them_too) {
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

TEST_P(promised, a_wait_that_lasts_runs_them_too) {
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

TEST_P(promised, a_test_of_several_runs_them_too) {
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

TEST_P(promised, the_bound_of_a_test_holds_for_all_that_it_runs) {
    cr c(flag);
    cr bounded(0, 1);
    std::deque<note> notes(4);
    for (note &n : notes) {
        MPI_Request r = world.start();
        const ticket t = world.ticket_of(r);
        attach(r, n, c);
        world.complete_in_progress(t);
    }
    note last;
    MPI_Request r = world.start();
    const ticket t = world.ticket_of(r);
    attach(r, last, bounded);
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

TEST_P(promised, a_callback_may_cancel) {
    cr c(flag);
    note cancelled;
    MPI_Request victim = world.start();
    attach(victim, cancelled, c);
    note n;
    n.inside = [&] {
        MPI_Request handle = c;
        EXPECT_EQ(thence_cancel(&handle), MPI_SUCCESS);
    };
    MPI_Request r = world.start();
    const ticket t = world.ticket_of(r);
    attach(r, n, c);
    world.complete_in_progress(t);
    EXPECT_TRUE(eventually([&] { return n.runs == 1 && cancelled.runs == 1; }));
}

TEST_P(promised, nothing_runs_where_the_program_called_mpi_for_something_else) {
    cr c(flag);
    noted a(*this, 'a');
    MPI_Request r = start('A');
    const ticket t = world.ticket_of(r);
    attach(r, a, c);
    world.complete(t); // as while it starts another operation, with a lock of its own held perhaps
    EXPECT_EQ(a.runs, 0);
    EXPECT_TRUE(eventually([&] { return a.runs == 1; }));
}

TEST_P(promised, none_runs_inside_another_nor_inside_attaching) {
    cr c(flag);
    int depth = 0;
    int deepest = 0;
    std::deque<note> notes(6);
    std::vector<ticket> later;
    for (note &n : notes) {
        MPI_Request r = world.start();
        const ticket t = world.ticket_of(r);
        attach(r, n, c);
        (later.size() < 3 ? world.complete_in_progress(t) : (void)0);
        later.push_back(t);
        n.inside = [&] {
            deepest = std::max(deepest, ++depth);
            for (std::size_t i = 3; i < later.size(); ++i) {
                world.complete(later[i]); // by what the callback starts, say
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

TEST_P(promised, groups_and_other_operations_wait_for_the_end_of_the_progress) {
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

// MPI may hold a lock where it ends operations with an error, as those of a rank that is lost.
TEST_P(promised, a_failed_operation_runs_its_callback_with_the_error_after_the_progress) {
    cr c(flag);
    noted n(*this, 'a');
    noted next(*this, 'b');
    MPI_Request r = start('A');
    MPI_Request second = start('B');
    ticket t = world.ticket_of(r);
    const ticket its = world.ticket_of(second);
    result failed;
    failed.error = MPI_ERR_TRUNCATE;
    MPI_Status status{};
    attach(r, n, c, &status);
    attach(second, next, c);
    world.complete_in_progress(t, failed);
    world.complete_in_progress(its);
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

TEST_P(promised, its_request_may_be_freed_before_and_inside) {
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

// Nobody else can make progress while the callback runs, so what waits there would do so for ever.
TEST_P(promised, a_callback_that_breaks_it_is_told) {
    if (!in_force_) {
        return; // it breaks nothing there
    }
    cr c(flag);
    cr other;
    note pending;
    MPI_Request later = world.start();
    const ticket its = world.ticket_of(later);
    attach(later, pending, other);
    note n;
    n.inside = [&] {
        const auto calls = world.progress_calls.load();
        let_run();
        int done = -1;
        EXPECT_EQ(thence_test(&other, &done, MPI_STATUS_IGNORE), MPI_ERR_PENDING);
        EXPECT_EQ(thence_wait(&other, MPI_STATUS_IGNORE), MPI_ERR_PENDING);
        EXPECT_EQ(world.progress_calls, calls) << "MPI is not entered again";
        EXPECT_EQ(reported(), (codes{MPI_ERR_PENDING, MPI_ERR_PENDING}));
        const auto told = [](const char *what, const std::function<void(MPI_Request &)> &call) {
            MPI_Request complete = world.start();
            world.complete(complete); // so that this one ends
            testing::internal::CaptureStderr();
            call(complete);
            const std::string said = testing::internal::GetCapturedStderr();
            EXPECT_EQ(reported(), codes{MPI_ERR_PENDING}) << what;
            EXPECT_NE(said.find("THENCE_CR_IN_COMPLETION"), std::string::npos) << what << ": " << said;
        };
        int i = 0;
        told("Wait", [](MPI_Request &r) { MPI_Wait(&r, MPI_STATUS_IGNORE); });
        told("Waitall", [](MPI_Request &r) { MPI_Waitall(1, &r, MPI_STATUSES_IGNORE); });
        told("Waitany", [&](MPI_Request &r) { MPI_Waitany(1, &r, &i, MPI_STATUS_IGNORE); });
        told("Waitsome", [&](MPI_Request &r) { MPI_Waitsome(1, &r, &i, &done, MPI_STATUSES_IGNORE); });
    };
    MPI_Request r = world.start();
    world.complete_in_progress(r);
    attach(r, n, c);
    let_run();
    EXPECT_EQ(n.runs, 1);
    world.complete(its);
    EXPECT_TRUE(eventually([&] { return pending.runs == 1; }));
}

THENCE_RULES(promised);

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

TEST_F(other_open_mpi, bears_it_only_with_the_known_layer_and_several_threads) {
    EXPECT_EQ(flags_with(usual()), flag);
    for (const char *layer : {"ucx", "cm", "ob10", ""}) {
        features what = usual();
        what.messages_through = layer;
        EXPECT_EQ(flags_with(what), 0U) << layer;
    }
    features what = usual();
    what.describes_layer_as = "btl";
    EXPECT_EQ(flags_with(what), 0U) << "the description is another one than known";
    what = usual();
    what.messages_through = nullptr;
    EXPECT_EQ(flags_with(what), 0U);
    what = usual();
    what.thread_level = MPI_THREAD_SERIALIZED;
    EXPECT_EQ(flags_with(what), 0U);
}

#endif

} // namespace
