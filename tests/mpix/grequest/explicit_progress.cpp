// SPDX-License-Identifier: BSD-3-Clause
// Async functions, progress threads, and the look at a request.
#include "polled_work.hpp"
#include "sleeps.hpp"

#include "core/base/processors.hpp"
#include "core/continuation/lifetime.hpp"
#include "core/mpi/calls.hpp"
#include "core/progress/progress.hpp"
#include "core/progress/source.hpp"
#include "mpix/grequest/async.hpp"

#include <thence/progress.h>

#include <vector>

namespace {

using namespace thence::fake;

struct async_work {
    std::atomic<int> calls{0};
    std::atomic<int> until{1}; // done at this call
    std::function<void(thence_async_thing)> inside;

    static int poll(thence_async_thing thing) {
        auto &w = *static_cast<async_work *>(thence_async_get_state(thing));
        const int call = ++w.calls;
        if (w.inside) {
            w.inside(thing);
        }
        return call >= w.until ? THENCE_ASYNC_DONE : THENCE_ASYNC_NOPROGRESS;
    }
    void start() { EXPECT_EQ(thence_async_start(&poll, this, THENCE_STREAM_NULL), MPI_SUCCESS); }
    bool over() const { return calls == until; }
};

class async_functions : public on_fake {};

TEST_P(async_functions, are_called_until_they_are_done) {
    async_work w;
    w.until = 5;
    w.start();
    EXPECT_TRUE(eventually([&] { return w.over(); }));
    for (int i = 0; i < 10; ++i) {
        let_run();
    }
    EXPECT_EQ(w.calls, 5);
}

TEST_P(async_functions, are_called_in_calls_that_wait) {
    async_work w;
    w.until = 3;
    MPI_Request r = world.start();
    const ticket t = world.ticket_of(r);
    w.inside = [&](thence_async_thing) {
        if (w.calls == 3) {
            world.complete(t);
        }
    };
    w.start();
    EXPECT_EQ(MPI_Wait(&r, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_TRUE(w.over());
}

// In MPICH the first deadlocks, and a test in such a function aborts or overflows the stack.
TEST_P(async_functions, may_start_others_and_call_mpi) {
    async_work first;
    async_work started;
    async_work spawned;
    started.until = 2;
    MPI_Request r = world.start();
    first.inside = [&](thence_async_thing thing) {
        EXPECT_EQ(thence_async_start(&async_work::poll, &started, THENCE_STREAM_NULL), MPI_SUCCESS);
        EXPECT_EQ(thence_async_spawn(thing, &async_work::poll, &spawned, THENCE_STREAM_NULL), MPI_SUCCESS);
        int flag = -1;
        EXPECT_EQ(MPI_Test(&r, &flag, MPI_STATUS_IGNORE), MPI_SUCCESS);
        EXPECT_EQ(flag, 0);
    };
    first.start();
    EXPECT_TRUE(eventually([&] { return first.over() && started.over() && spawned.over(); }));
    world.complete(r);
    EXPECT_EQ(MPI_Wait(&r, MPI_STATUS_IGNORE), MPI_SUCCESS);
}

TEST_P(async_functions, may_complete_a_generalized_request) {
    work g;
    g.start(nullptr);
    async_work w;
    w.until = 4;
    w.inside = [&](thence_async_thing) {
        if (w.calls == 4) {
            g.complete();
        }
    };
    w.start();
    EXPECT_EQ(MPI_Wait(&g.request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    g.expect_over();
}

TEST_P(async_functions, end_before_mpi_finalize_goes_on) {
    async_work w;
    w.until = 100;
    w.start();
    thence::continuation::finalizing();
    EXPECT_TRUE(w.over());
    thence::continuation::tear_down(); // the MPI of the test may start again
    EXPECT_EQ(thence::continuation::set_up(), thence::continuation::setting_up::done) << "for the end of the test";
    thence::continuation::tear_down();
}

TEST_P(async_functions, refuse_bad_arguments) {
    async_work w;
    EXPECT_EQ(thence_async_start(nullptr, &w, THENCE_STREAM_NULL), MPI_ERR_ARG);
    EXPECT_EQ(thence_async_start(&async_work::poll, &w, 77), MPI_ERR_ARG);
    EXPECT_EQ(thence_async_spawn(nullptr, &async_work::poll, &w, THENCE_STREAM_NULL), MPI_ERR_ARG);
    EXPECT_EQ(thence_async_get_state(nullptr), nullptr);
    EXPECT_EQ(thence_stream_progress(77), MPI_ERR_ARG);
    EXPECT_EQ(thence_start_progress_thread(77), MPI_ERR_ARG);
    EXPECT_EQ(reported().size(), 5U);
    EXPECT_EQ(w.calls, 0);
}

THENCE_RULES(async_functions);

class progress_threads : public on_fake {
protected:
    static bool grows() {
        const unsigned long long before = world.progress_calls;
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
        while (world.progress_calls < before + 10) {
            if (std::chrono::steady_clock::now() > end) {
                return false;
            }
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        return true;
    }
    static bool rests() {
        for (int i = 0; i < 1000; ++i) {
            const unsigned long long before = world.progress_calls;
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
            if (world.progress_calls == before) {
                return true;
            }
        }
        return false;
    }
};

TEST_P(progress_threads, make_progress_while_nobody_calls_mpi) {
    EXPECT_EQ(thence_start_progress_thread(THENCE_STREAM_NULL), MPI_SUCCESS);
    EXPECT_TRUE(grows());
    EXPECT_EQ(thence_stop_progress_thread(THENCE_STREAM_NULL), MPI_SUCCESS);
    EXPECT_TRUE(rests());
}

TEST_P(progress_threads, are_counted) {
    EXPECT_EQ(thence_start_progress_thread(THENCE_STREAM_NULL), MPI_SUCCESS);
    EXPECT_EQ(thence_start_progress_thread(THENCE_STREAM_NULL), MPI_SUCCESS);
    EXPECT_EQ(thence_stop_progress_thread(THENCE_STREAM_NULL), MPI_SUCCESS);
    EXPECT_TRUE(grows());
    EXPECT_EQ(thence_stop_progress_thread(THENCE_STREAM_NULL), MPI_SUCCESS);
    EXPECT_EQ(thence_stop_progress_thread(THENCE_STREAM_NULL), MPI_SUCCESS) << "is no error";
    EXPECT_TRUE(rests());
    EXPECT_FALSE(thence::progress::any_outstanding());
}

TEST_P(progress_threads, complete_generalized_requests_and_call_async_functions) {
    EXPECT_EQ(thence_start_progress_thread(THENCE_STREAM_NULL), MPI_SUCCESS);
    async_work a;
    a.until = 10;
    a.start();
    work w;
    w.ended = true;
    w.start(nullptr);
    work polled;
    polled.ended = true;
    polled.start();
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while ((!a.over() || polled.polls == 0) && std::chrono::steady_clock::now() < end) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    EXPECT_TRUE(a.over());
    EXPECT_EQ(polled.polls, 1);
    w.complete();
    MPI_Request both[] = {w.request, polled.request};
    EXPECT_EQ(MPI_Waitall(2, both, MPI_STATUSES_IGNORE), MPI_SUCCESS);
    w.expect_over();
    polled.expect_over();
    EXPECT_EQ(thence_stop_progress_thread(THENCE_STREAM_NULL), MPI_SUCCESS);
}

// What the helper thread polls while MPI_Finalize gives all up ends as the others do.
class finalized_polls : public progress_threads {
protected:
    // `begin` starts what calls block() on the helper.
    template <class Begin> void finalize_while_polled(Begin begin) {
        EXPECT_EQ(thence_start_progress_thread(THENCE_STREAM_NULL), MPI_SUCCESS);
        work other;
        other.start();
        begin();
        while (!is_blocked) {
            std::this_thread::yield();
        }
        std::thread unblocks([&] {
            while (!is_done(*world.checked("test", other.handle))) { // until all were given up
                std::this_thread::yield();
            }
            may_go_on = true;
        });
        thence::continuation::tear_down();
        unblocks.join();
        expect_failed(other);
        is_blocked = may_go_on = false;
    }
    void block() {
        is_blocked = true;
        while (!may_go_on) {
            std::this_thread::yield();
        }
    }
    static void expect_failed(work &w) {
        int flag = 0;
        EXPECT_EQ(MPI_Test(&w.request, &flag, MPI_STATUS_IGNORE), MPI_ERR_OTHER);
        EXPECT_EQ(flag, 1);
        EXPECT_EQ(reported(), (codes{MPI_ERR_OTHER}));
        EXPECT_EQ(w.frees, 1);
    }

    std::atomic<bool> is_blocked{false};
    std::atomic<bool> may_go_on{false};
};

TEST_P(finalized_polls, fail_a_request) {
    work w;
    w.inside = [&] { block(); };
    finalize_while_polled([&] { w.start(); });
    w.complete(); // MPI knows already
    expect_failed(w);
    EXPECT_EQ(w.misuses, 0);
}

TEST_P(finalized_polls, complete_a_request_whose_work_has_ended) {
    work w;
    w.inside = [&] {
        block();
        w.ended = true;
    };
    finalize_while_polled([&] { w.start(); });
    EXPECT_EQ(MPI_Wait(&w.request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    w.expect_over();
}

TEST_P(finalized_polls, may_start_a_progress_thread_that_is_forgotten) {
    async_work a;
    a.inside = [&](thence_async_thing) {
        block();
        std::this_thread::sleep_for(std::chrono::milliseconds(20)); // now MPI_Finalize waits for the helper
        EXPECT_EQ(thence_start_progress_thread(THENCE_STREAM_NULL), MPI_SUCCESS);
    };
    finalize_while_polled([&] { a.start(); });
    EXPECT_FALSE(thence::progress::any_outstanding());
}

TEST_P(finalized_polls, count_an_async_function_once) {
    for (const int until : {1, 2}) { // done now, or later
        async_work a;
        a.until = until;
        a.inside = [&](thence_async_thing) { block(); };
        finalize_while_polled([&] { a.start(); });
        EXPECT_EQ(a.calls, 1);
        EXPECT_EQ(thence::grequest::running_async(), 0);
    }
}

THENCE_RULES(progress_threads);
THENCE_RULES(finalized_polls);

// MPICH 4.3 and later: each call handles one message, which makes it longer than one that finds nothing.
class one_message_a_call : public on_fake {
protected:
    // Without any MPI call of this thread.
    static bool soon(const std::function<bool()> &done) {
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
        while (!done() && std::chrono::steady_clock::now() < end) {
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        return done();
    }
};

TEST_P(one_message_a_call, the_progress_thread_does_not_sleep_between_messages_that_have_arrived) {
    constexpr int messages = 500;
    thence::base::scripted_processors = []() noexcept { return false; }; // few long sleeps else
    std::atomic<int> arrived{0};                                         // and not handled
    std::atomic<unsigned long> sleeps{0}, between{0};
    unsigned long at_first = 0;
    world.in_stream_progress = [&] {
        const int left = arrived;
        if (left == 0) {
            sleeps = sleeps_here();
            return;
        }
        at_first = left == messages ? sleeps_here() : at_first;
        const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(50);
        while (std::chrono::steady_clock::now() < end) {
        }
        between = sleeps_here() - at_first;
        --arrived;
    };
    EXPECT_EQ(thence_start_progress_thread(THENCE_STREAM_NULL), MPI_SUCCESS);
    EXPECT_TRUE(soon([&] { return sleeps > 100; })) << "it pauses while no message arrives";
    arrived = messages;
    EXPECT_TRUE(soon([&] { return arrived == 0; }));
    EXPECT_EQ(thence_stop_progress_thread(THENCE_STREAM_NULL), MPI_SUCCESS);
    EXPECT_LT(between, messages / 4U);
    thence::base::scripted_processors = nullptr;
}

THENCE_RULES_WHERE(one_message_a_call, [](const variant &v) { return v.offers.async_start; });

struct progress_threads_below_multiple : ::testing::Test {};
TEST_F(progress_threads_below_multiple, are_refused) {
    variant v = all_variants().back();
    v.offers.thread_level = MPI_THREAD_SERIALIZED;
    const library installed(v);
    EXPECT_EQ(thence_start_progress_thread(THENCE_STREAM_NULL), MPI_ERR_UNSUPPORTED_OPERATION);
    EXPECT_EQ(reported(), codes{MPI_ERR_UNSUPPORTED_OPERATION});
}

class request_is_complete : public on_fake {};

TEST_P(request_is_complete, tells_pending_from_complete) {
    EXPECT_EQ(thence_request_is_complete(MPI_REQUEST_NULL), 1);
    MPI_Request r = world.start();
    EXPECT_EQ(thence_request_is_complete(r), 0);
    world.complete(r);
    EXPECT_EQ(thence_request_is_complete(r), 1);
    EXPECT_EQ(MPI_Wait(&r, MPI_STATUS_IGNORE), MPI_SUCCESS) << "it was not freed";
    MPI_Request persistent = world.persistent();
    EXPECT_EQ(thence_request_is_complete(persistent), 1) << "it is inactive";
    EXPECT_EQ(MPI_Start(&persistent), MPI_SUCCESS);
    EXPECT_EQ(thence_request_is_complete(persistent), 0);
    world.complete(persistent);
    EXPECT_EQ(thence_request_is_complete(persistent), 1);
    EXPECT_EQ(MPI_Wait(&persistent, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(MPI_Request_free(&persistent), MPI_SUCCESS);
}

TEST_P(request_is_complete, tells_of_continuation_requests) {
    cr c;
    EXPECT_EQ(thence_request_is_complete(c), 1);
    note n;
    const ticket t = attach_pending(n, c);
    EXPECT_EQ(thence_request_is_complete(c), 0);
    world.complete(t);
    EXPECT_TRUE(eventually([&] { return n.runs == 1; }));
    EXPECT_EQ(thence_request_is_complete(c), 1);
}

TEST_P(request_is_complete, makes_no_progress_where_the_mpi_tells) {
    MPI_Request r = world.start();
    thence_request_is_complete(r);
    const unsigned long long before = world.progress_calls;
    thence_request_is_complete(r);
#if defined(OPEN_MPI)
    EXPECT_EQ(world.progress_calls == before, GetParam().requests_can_be_read() || GetParam().offers.is_complete);
#else
    EXPECT_EQ(world.progress_calls == before, GetParam().offers.is_complete);
#endif
    world.complete(r);
    EXPECT_EQ(MPI_Wait(&r, MPI_STATUS_IGNORE), MPI_SUCCESS);
}

THENCE_RULES(request_is_complete);

} // namespace
