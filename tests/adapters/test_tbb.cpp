// SPDX-License-Identifier: BSD-3-Clause
#include "mpi_fixture.hpp"

#include <oneapi/tbb/task_arena.h>

#include <vector>

namespace {

std::atomic<bool> polls_linger{false};
std::atomic<bool> mpi_is_over{false};
std::atomic<int> polls_too_late{0};
use_of_polling_thread use_of_poller;

int watched_progress() {
    use_of_poller.record();
    const int result = thence_progress();
    if (polls_linger) {
        std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
    polls_too_late += mpi_is_over.load();
    return result;
}

} // namespace

// The header's polls, but not those of the fixture, are watched.
#define thence_progress watched_progress
#include <thence/tbb.hpp>
#undef thence_progress

namespace {

using thence::onetbb::task_group;

TEST(tbb_suspend, does_not_suspend_when_complete_already) {
    const thence::continuation_request cr;
    complete_receive r(1);
    tbb::task_group group;
    std::thread::id before, after;
    MPI_Status status{};
    group.run_and_wait([&] {
        before = std::this_thread::get_id();
        status = thence::onetbb::suspend(r.request, cr);
        after = std::this_thread::get_id();
    });
    EXPECT_EQ(before, after);
    EXPECT_EQ(status.MPI_TAG, 1);
}

// One slot and no worker: if the task blocked its thread, the task that sends could never run.
TEST(tbb_suspend, leaves_the_thread_to_other_tasks) {
    const thence::continuation_request cr(THENCE_CR_ANY_THREAD);
    pending_receive r(1);
    tbb::task_arena arena(1);
    int order = 0;
    int sent_at = 0;
    int received_at = 0;
    arena.execute([&] {
        tbb::task_group group;
        group.run([&] {
            group.run([&] {
                sent_at = ++order;
                r.complete(5);
            });
            thence::onetbb::suspend(r.request, cr);
            received_at = ++order;
        });
        group.wait();
    });
    EXPECT_EQ(sent_at, 1);
    EXPECT_EQ(received_at, 2);
    EXPECT_EQ(r.value(), 5);
}

TEST(tbb_suspend, many_suspended_tasks_each_get_their_own_message) {
    const thence::continuation_request cr;
    constexpr int count = 500;
    std::vector<int> in(count, -1);
    std::vector<int> out(count);
    std::atomic<int> right_tags = 0;
    task_group group(cr);
    for (int i = 0; i < count; ++i) {
        group.run([&, i] {
            const auto at = static_cast<std::size_t>(i);
            MPI_Request receive = MPI_REQUEST_NULL;
            MPI_Irecv(&in[at], 1, MPI_INT, 0, i, MPI_COMM_SELF, &receive);
            group.run([&, at] {
                out[at] = static_cast<int>(at);
                MPI_Request send = MPI_REQUEST_NULL;
                MPI_Isend(&out[at], 1, MPI_INT, 0, static_cast<int>(at), MPI_COMM_SELF, &send);
                group.suspend(send);
            });
            right_tags += group.suspend(receive).MPI_TAG == i;
        });
    }
    EXPECT_EQ(group.wait(), tbb::complete);
    EXPECT_EQ(right_tags.load(), count);
    for (int i = 0; i < count; ++i) {
        EXPECT_EQ(in[static_cast<std::size_t>(i)], i);
    }
}

TEST(tbb_suspend, throws_in_the_task_that_waited) {
    NEEDS_TWO_RANKS();
    const errors_return scope;
    const thence::continuation_request cr(THENCE_CR_ANY_THREAD);
    truncated_receive bad(1);
    if (rank() == 0) {
        bad.send_when_asked();
        return;
    }
    int error_class = 0;
    tbb::task_group group;
    group.run_and_wait([&] {
        bad.ask();
        try {
            thence::onetbb::suspend(bad.request, cr);
        } catch (const thence::error &e) {
            error_class = e.error_class();
        }
    });
    EXPECT_EQ(error_class, MPI_ERR_TRUNCATE);
}

TEST(tbb_task_group, runs_the_task_only_after_the_last_operation) {
    const thence::continuation_request cr;
    task_group group(cr);
    complete_receive a(1);
    pending_receive b(2);
    std::array<MPI_Request, 2> requests{a.request, b.request};
    std::atomic<bool> sent = false;
    bool seen = false;
    int runs = 0;
    group.run_after(requests, [&] {
        seen = sent.load();
        ++runs;
    });
    EXPECT_EQ(requests[1], MPI_REQUEST_NULL);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    sent = true;
    b.complete();
    group.wait();
    EXPECT_TRUE(seen);
    EXPECT_EQ(runs, 1);
}

TEST(tbb_task_group, runs_the_task_when_everything_is_complete_already_or_there_is_nothing) {
    const thence::continuation_request cr;
    task_group group(cr);
    complete_receive r(1);
    std::vector<MPI_Request> none;
    std::atomic<int> runs = 0;
    group.run_after(r.request, [&] { ++runs; });
    group.run_after(none, [&] { ++runs; });
    group.wait();
    EXPECT_EQ(runs.load(), 2);
}

// Rank 1 makes no MPI call of its own while it waits.
TEST(tbb_task_group, wait_makes_progress) {
    NEEDS_TWO_RANKS();
    const thence::continuation_request cr;
    int value = 17;
    if (rank() == 0) {
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
        MPI_Send(&value, 1, MPI_INT, 1, 1, MPI_COMM_WORLD);
        return;
    }
    task_group group(cr);
    MPI_Request request = MPI_REQUEST_NULL;
    int got = 0;
    MPI_Irecv(&value, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, &request);
    group.run_after(request, [&] { got = value; });
    group.wait();
    EXPECT_EQ(got, 17);
}

// The program may call MPI_Finalize next.
// One thread polls: others of oneTBB look for tasks all the time while there is a task that polls.
TEST(tbb_task_group, pauses_while_nothing_arrives) {
    const thence::continuation_request cr;
    tbb::task_arena arena(1);
    use_of_poller.restart();
    const auto wait = [&](MPI_Request request) {
        arena.execute([&] {
            task_group group(cr);
            group.run_after(request, [] {});
            group.wait();
        });
    };
    expect_pauses_while_nothing_arrives(wait, [] { return use_of_poller.read(); });
}

TEST(tbb_task_group, makes_no_mpi_call_after_wait) {
    const thence::continuation_request cr;
    polls_too_late = 0;
    polls_linger = true;
    for (int i = 0; i < 300; ++i) {
        task_group group(cr);
        pending_receive r(i);
        group.run_after(r.request, [] {});
        group.run([&] { r.complete(); });
        group.wait();
        mpi_is_over = true;
        std::this_thread::sleep_for(std::chrono::microseconds(200));
        mpi_is_over = false;
    }
    polls_linger = false;
    EXPECT_EQ(polls_too_late.load(), 0);
}

TEST(tbb_task_group, failure_cancels_and_wait_throws_and_the_group_is_usable_again) {
    NEEDS_TWO_RANKS();
    const errors_return scope;
    const thence::continuation_request cr;
    truncated_receive bad(1);
    if (rank() == 0) {
        bad.send_when_asked();
        return;
    }
    task_group group(cr);
    bool ran = false;
    pending_receive good(2);
    std::array<MPI_Request, 2> requests{good.request, bad.request};
    group.run_after(requests, [&] { ran = true; });
    good.complete();
    bad.ask();
    try {
        group.wait();
        ADD_FAILURE() << "no exception";
    } catch (const thence::error &e) {
        EXPECT_EQ(e.error_class(), MPI_ERR_TRUNCATE);
        EXPECT_EQ(e.statuses().size(), 2U);
    }
    EXPECT_FALSE(ran);
    complete_receive again(3);
    group.run_after(again.request, [&] { ran = true; });
    group.wait();
    EXPECT_TRUE(ran);
}

TEST(tbb_task_group, task_that_takes_the_error_runs_in_any_case) {
    NEEDS_TWO_RANKS();
    const errors_return scope;
    const thence::continuation_request cr;
    truncated_receive bad(1);
    if (rank() == 0) {
        bad.send_when_asked();
        return;
    }
    task_group group(cr);
    pending_receive good(2);
    std::vector<int> classes;
    const auto note = [&](int error, std::span<const MPI_Status> statuses) {
        classes.push_back(class_of(error));
        EXPECT_EQ(statuses.size(), 1U);
    };
    group.run_after(bad.request, note);
    bad.ask();
    EXPECT_EQ(group.wait(), tbb::complete);
    good.complete();
    group.run_after(good.request, note);
    EXPECT_EQ(group.wait(), tbb::complete);
    EXPECT_EQ(classes, (std::vector<int>{MPI_ERR_TRUNCATE, MPI_SUCCESS}));
}

TEST(tbb_task_group, cancelled_group_still_waits_for_its_operations) {
    const thence::continuation_request cr;
    task_group group(cr);
    pending_receive r(1);
    bool ran = false;
    group.run_after(r.request, [&] { ran = true; });
    group.cancel();
    std::thread sender([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
        r.complete(3);
    });
    EXPECT_EQ(group.wait(), tbb::canceled);
    EXPECT_EQ(r.value(), 3); // the buffer is free again
    EXPECT_FALSE(ran);
    sender.join();
}

TEST(tbb_task_group, changes_nothing_when_nothing_can_be_attached) {
    const errors_return scope;
    pending_receive r(1);
    bool ran = false;
    {
        auto cr = std::make_unique<thence::continuation_request>();
        task_group group(*cr);
        cr.reset(); // the group outlives its continuation request: an error, and reported as one
        const MPI_Request before = r.request;
        EXPECT_THROW(group.run_after(r.request, [&] { ran = true; }), thence::error);
        EXPECT_EQ(r.request, before);
        EXPECT_EQ(group.wait(), tbb::complete);
    }
    EXPECT_FALSE(ran);
    r.complete();
    MPI_Wait(&r.request, MPI_STATUS_IGNORE);
}

TEST(tbb_task_group, refuses_a_cr_that_nobody_would_test) {
    const errors_return scope;
    EXPECT_THROW(task_group group(MPI_REQUEST_NULL), thence::error);
    const thence::continuation_request poll_only(THENCE_CR_POLL_ONLY);
    EXPECT_THROW(task_group group(poll_only), thence::error);
    const thence::continuation_request needs_start(THENCE_CR_NEEDS_START);
    EXPECT_THROW(task_group group(needs_start), thence::error);
}

TEST(tbb_task_group, tasks_can_be_added_inside_a_callback_and_inside_its_tasks) {
    const thence::continuation_request cr;
    task_group group(cr);
    struct relay {
        task_group &group;
        pending_receive second{2};
        pending_receive third{3};
        std::atomic<int> runs{0};
    } state{group};
    pending_receive first(1);
    int flag = 0;
    const auto callback = [](int, MPI_Status *, void *data) -> int {
        auto *self = static_cast<relay *>(data);
        self->group.run_after(self->second.request, [self] {
            ++self->runs;
            self->group.run_after(self->third.request, [self] { ++self->runs; });
            self->third.complete();
        });
        return MPI_SUCCESS;
    };
    ASSERT_EQ(thence_attach(1, &first.request, callback, &state, 0, MPI_STATUSES_IGNORE, cr, &flag), MPI_SUCCESS);
    ASSERT_EQ(flag, 0);
    first.complete();
    thence::progress_until([&] { return state.second.request == MPI_REQUEST_NULL; });
    state.second.complete();
    group.wait();
    EXPECT_EQ(state.runs.load(), 2);
}

TEST(tbb_task_group, takes_part_in_nested_groups) {
    const thence::continuation_request cr;
    task_group outer(cr);
    std::atomic<int> runs = 0;
    for (int i = 0; i < 8; ++i) {
        outer.run([&, i] {
            task_group inner(cr);
            pending_receive r(i);
            inner.run_after(r.request, [&] { ++runs; });
            inner.run([&] { r.complete(); });
            inner.wait();
        });
    }
    outer.wait();
    EXPECT_EQ(runs.load(), 8);
}

// One slot: the nested wait comes first, and what it waits for is sent by an older task of the only thread.
TEST(tbb_task_group, polling_lets_older_tasks_run) {
    const thence::continuation_request cr;
    tbb::task_arena arena(1);
    bool received = false;
    arena.execute([&] {
        pending_receive r(1);
        tbb::task_group outer;
        outer.run([&] { r.complete(4); });
        outer.run([&] {
            task_group inner(cr);
            inner.run_after(r.request, [&] { received = r.value() == 4; });
            inner.wait();
            EXPECT_TRUE(received);
        });
        outer.wait();
    });
    EXPECT_TRUE(received);
}

TEST(tbb_task_group, is_cancelled_with_the_group_around_it_but_makes_progress) {
    const thence::continuation_request cr;
    pending_receive r(1);
    bool ran = false;
    tbb::task_group outer;
    outer.run_and_wait([&] {
        task_group inner(cr);
        inner.run_after(r.request, [&] { ran = true; });
        outer.cancel();
        std::thread sender([&] {
            std::this_thread::sleep_for(std::chrono::milliseconds(2));
            r.complete(6);
        });
        EXPECT_EQ(inner.wait(), tbb::canceled);
        EXPECT_EQ(r.value(), 6);
        sender.join();
    });
    EXPECT_FALSE(ran);
}

} // namespace
