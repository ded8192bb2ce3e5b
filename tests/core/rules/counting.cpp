// SPDX-License-Identifier: BSD-3-Clause
// The values that thence_query(), thence_cr_query() and thence_stats_query() return.
#include "library.hpp"

#include "core/progress/interposed.hpp"

#include <chrono>

namespace {

using namespace thence::fake;

class counting : public on_fake {
protected:
    thence_stats_info before_ = stats();
};

TEST_P(counting, stats_add_up) {
    cr c;
    note n;
    std::vector<ticket> tickets;
    for (int i = 0; i < 10; ++i) {
        MPI_Request r = world.start();
        tickets.push_back(world.ticket_of(r));
        attach(r, n, c);
    }
    for (int i = 0; i < 3; ++i) {
        MPI_Request r = world.start();
        world.complete(r);
        EXPECT_EQ(attach(r, n, c), 1);
    }
    thence_stats_info s = stats();
    EXPECT_EQ(s.attached - before_.attached, 10U);
    EXPECT_EQ(s.immediate - before_.immediate, 3U);
    EXPECT_EQ(s.completed - before_.completed, 0U);
    EXPECT_EQ(s.outstanding - before_.outstanding, 10U);
    for (int i = 0; i < 4; ++i) {
        world.complete(tickets[static_cast<std::size_t>(i)], {0, 0, 0, i == 0 ? MPI_ERR_OTHER : MPI_SUCCESS});
    }
    EXPECT_TRUE(eventually([&] { return n.runs == 4; }));
    s = stats();
    EXPECT_EQ(s.completed - before_.completed, 4U);
    EXPECT_EQ(s.failed - before_.failed, 1U);
    EXPECT_EQ(s.outstanding - before_.outstanding, 6U);
    for (const ticket &t : tickets) {
        world.complete(t);
    }
    EXPECT_EQ(thence_wait(&c, MPI_STATUS_IGNORE), MPI_SUCCESS);
    s = stats();
    EXPECT_EQ(s.attached - before_.attached, s.completed - before_.completed);
    EXPECT_EQ(s.outstanding, before_.outstanding);
    reported();
}

TEST_P(counting, every_way_of_attaching_is_counted) {
    cr plain;
    cr always(THENCE_CR_ENQUEUE_COMPLETE);
    note n;
    const auto done = [] {
        MPI_Request r = world.start();
        world.complete(r);
        return r;
    };
    MPI_Request a = done();
    attach(a, n, plain, MPI_STATUS_IGNORE, THENCE_MAY_RUN);
    MPI_Request b = done();
    attach(b, n, always);
    std::vector<MPI_Request> group{world.start(), done(), world.start()};
    const ticket t[] = {world.ticket_of(group[0]), world.ticket_of(group[2])};
    attach(group, n, plain);
    MPI_Request handle = plain;
    attach(handle, n, always);
    world.complete(t[0]);
    world.complete(t[1]);
    EXPECT_TRUE(eventually([&] { return n.runs == 4; }));
    EXPECT_EQ(thence_wait(&always, MPI_STATUS_IGNORE), MPI_SUCCESS);
    const thence_stats_info s = stats();
    EXPECT_EQ(s.attached - before_.attached, 4U);
    EXPECT_EQ(s.completed - before_.completed, 4U);
    EXPECT_EQ(s.outstanding, before_.outstanding);
}

TEST_P(counting, counts_of_ended_threads_are_included) {
    cr c;
    note n;
    for (int i = 0; i < 4; ++i) {
        std::thread([&] {
            const ticket t = attach_pending(n, c);
            world.complete(t);
            MPI_Request q = world.start();
            world.complete(q);
            attach(q, n, c);
        }).join();
    }
    EXPECT_EQ(thence_wait(&c, MPI_STATUS_IGNORE), MPI_SUCCESS);
    const thence_stats_info s = stats();
    EXPECT_EQ(s.attached - before_.attached, 4U);
    EXPECT_EQ(s.immediate - before_.immediate, 4U);
    EXPECT_EQ(s.completed - before_.completed, 4U);
}

TEST_P(counting, only_polling_engines_poll) {
    cr c;
    note n;
    const ticket t = attach_pending(n, c);
    const unsigned long long looks = world.completing_calls;
    for (int i = 0; i < 10; ++i) {
        let_run();
    }
    const unsigned long long polls = stats().polls - before_.polls;
    if (std::string(GetParam().engine) == "openmpi") {
        EXPECT_EQ(polls, 0U) << "completion is pushed";
        EXPECT_EQ(world.completing_calls, looks);
    } else {
        EXPECT_GE(polls, 10U);
    }
    world.complete(t);
    EXPECT_EQ(thence_wait(&c, MPI_STATUS_IGNORE), MPI_SUCCESS);
}

TEST_P(counting, take_complete_leaves_what_is_pending_and_does_not_poll) {
    cr c; // the library is in use
    MPI_Request r = world.start();
    const ticket t = world.ticket_of(r);
    const MPI_Request before = r;
    const unsigned long long looks = world.completing_calls;
    int flag = 77;
    EXPECT_EQ(thence_take_complete(&r, &flag, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(flag, 0);
    EXPECT_EQ(r, before);
    if (std::string(GetParam().engine) != "testsome") {
        EXPECT_EQ(world.completing_calls, looks) << "no test of MPI was called";
    }
    world.complete(t, {.error = MPI_SUCCESS});
    MPI_Status status{};
    EXPECT_EQ(thence_take_complete(&r, &flag, &status), MPI_SUCCESS);
    EXPECT_EQ(flag, 1);
    EXPECT_EQ(r, MPI_REQUEST_NULL);
    EXPECT_EQ(thence_take_complete(&r, &flag, &status), MPI_SUCCESS);
    EXPECT_EQ(flag, 1) << "as MPI_Test of MPI_REQUEST_NULL";
    r = world.start();
    world.complete(world.ticket_of(r), {.error = MPI_ERR_TRUNCATE});
    EXPECT_EQ(thence_take_complete(&r, &flag, MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE);
    EXPECT_EQ(flag, 1);
    EXPECT_EQ(reported().size(), 1U);
    MPI_Request handle = c;
    EXPECT_EQ(thence_take_complete(&handle, &flag, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(flag, 0) << "a continuation request";
}

TEST_P(counting, query_of_a_cr_returns_what_is_in_force_for_it) {
    cr c(THENCE_CR_POLL_ONLY | THENCE_CR_ENQUEUE_COMPLETE | THENCE_CR_REPORT_FAILED, 9);
    thence_cr_info info{};
    EXPECT_EQ(thence_cr_query(c, &info, sizeof info), MPI_SUCCESS);
    EXPECT_EQ(info.size, sizeof info);
    EXPECT_EQ(info.flags, THENCE_CR_POLL_ONLY | THENCE_CR_ENQUEUE_COMPLETE | THENCE_CR_REPORT_FAILED);
    EXPECT_EQ(info.max_poll, 9);
    EXPECT_EQ(info.registered, 0);
    EXPECT_EQ(info.active, 0);
    EXPECT_EQ(info.failed, 0);
    MPI_Request r = world.start();
    const ticket t = world.ticket_of(r);
    note n;
    attach(r, n, c);
    EXPECT_EQ(thence_cr_query(c, &info, sizeof info), MPI_SUCCESS);
    EXPECT_EQ(info.registered, 1);
    EXPECT_EQ(info.active, 1);
    world.complete(t, {.error = MPI_ERR_OTHER});
    EXPECT_NE(thence_wait(&c, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(thence_cr_query(c, &info, sizeof info), MPI_SUCCESS);
    EXPECT_EQ(info.registered, 0);
    EXPECT_EQ(info.failed, 1) << "it is kept for thence_get_failed()";
    reported();
}

TEST_P(counting, query_of_the_process_returns_what_the_library_runs_on) {
    thence_info info{};
    EXPECT_EQ(thence_query(&info, sizeof info), MPI_SUCCESS);
    EXPECT_EQ(info.size, sizeof info);
    EXPECT_STREQ(info.version, "0.1.0");
    EXPECT_STREQ(info.mpi, "fake MPI");
    EXPECT_STREQ(info.engine, GetParam().engine);
    EXPECT_NE(std::string(info.engine_why), "");
    EXPECT_EQ(info.thread_level, MPI_THREAD_MULTIPLE);
    EXPECT_EQ(info.interposed, thence::progress::interposed.calls ? 1 : 0);
#if defined(OPEN_MPI)
    EXPECT_EQ(info.detects_persistent, GetParam().requests_can_be_read() ? 1 : 0);
#else
    EXPECT_EQ(info.detects_persistent, 0);
#endif
    EXPECT_EQ(info.any_thread, std::string(info.helper).find("not possible") == 0 ? 0 : 1);
    cr promised(THENCE_CR_IN_COMPLETION);
    thence_cr_info of_cr{};
    EXPECT_EQ(thence_cr_query(promised, &of_cr, sizeof of_cr), MPI_SUCCESS);
    EXPECT_EQ(info.in_completion != 0, (of_cr.flags & THENCE_CR_IN_COMPLETION) != 0);
    EXPECT_EQ(info.slow_ms, 0);
}

// Continuations complete while another thread queries.
TEST_P(counting, attached_never_goes_back_and_is_never_too_high) {
    std::atomic<bool> stop{false};
    std::atomic<unsigned long long> begun{0}; // at least as many as are attached
    std::thread worker([&] {
        cr c;
        cr d;
        note n;
        while (!stop.load(std::memory_order_relaxed)) {
            for (int i = 0; i < 8; ++i) {
                begun.fetch_add(1);
                const ticket t = attach_pending(n, i % 3 == 0 ? d : c);
                world.complete(t);
                if (i < 3) { // alone or in a row
                    thence_wait(&c, MPI_STATUS_IGNORE);
                }
            }
            EXPECT_EQ(thence_wait(&c, MPI_STATUS_IGNORE), MPI_SUCCESS);
            EXPECT_EQ(thence_wait(&d, MPI_STATUS_IGNORE), MPI_SUCCESS);
        }
    });
    thence_stats_info last = before_;
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(300);
    while (std::chrono::steady_clock::now() < end && !HasFailure()) {
        const thence_stats_info now = stats();
        const unsigned long long most = begun.load();
        EXPECT_GE(now.attached, last.attached);
        EXPECT_GE(now.completed, last.completed);
        EXPECT_GE(now.attached, now.completed + now.outstanding);
        EXPECT_LE(now.attached - before_.attached, most) << "one was counted twice";
        last = now;
    }
    stop = true;
    worker.join();
    const thence_stats_info s = stats();
    EXPECT_EQ(s.attached - before_.attached, begun.load());
    EXPECT_EQ(s.completed - before_.completed, begun.load());
}

THENCE_RULES(counting);

} // namespace
