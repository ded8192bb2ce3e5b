// SPDX-License-Identifier: BSD-3-Clause
// Blocking calls of MPI in tasks block the task (thence_task_blocking_calls).
#include "library.hpp"
#include "scripted_tasks.hpp"

#include <array>
#include <cstdio>
#include <cstdlib>

namespace {

using namespace thence::fake;

class blocking_tasks : public on_fake {
protected:
    blocking_tasks() {
        refuses_to_block = 0;
        EXPECT_EQ(thence_task_runtime_add(&scripted), MPI_SUCCESS);
        EXPECT_EQ(thence_task_blocking_calls(c_), MPI_SUCCESS);
    }
    ~blocking_tasks() override {
        EXPECT_EQ(thence_task_blocking_calls(MPI_REQUEST_NULL), MPI_SUCCESS);
        EXPECT_EQ(thence_task_runtime_remove(&scripted), MPI_SUCCESS);
    }
    // Runs `body` as a task on a thread of its own, and `meanwhile` once the task is blocked.
    void run(const std::function<void()> &body, const std::function<void()> &meanwhile) {
        std::atomic<bool> over{false};
        std::thread worker([&] {
            const in_task scope(task_);
            body();
            over = true;
        });
        EXPECT_TRUE(eventually([&] { return task_.blocks > 0; }));
        EXPECT_FALSE(over);
        meanwhile();
        EXPECT_TRUE(eventually([&] { return over.load(); }));
        worker.join();
    }

    cr c_;
    scripted_task task_;
};

TEST_P(blocking_tasks, are_blocked_until_the_request_that_they_wait_for_is_complete) {
    MPI_Request r = world.start();
    const ticket t = world.ticket_of(r);
    run(
        [&] {
            MPI_Status status{};
            EXPECT_EQ(MPI_Wait(&r, &status), MPI_SUCCESS);
            EXPECT_EQ(r, MPI_REQUEST_NULL);
            EXPECT_EQ(status.MPI_TAG, 7);
        },
        [&] { world.complete(t, {.tag = 7}); });
    EXPECT_EQ(task_.blocks, 1);
    EXPECT_EQ(task_.sleeps, 0);
}

TEST_P(blocking_tasks, are_blocked_once_for_several_requests) {
    std::array<MPI_Request, 3> all{world.start(), MPI_REQUEST_NULL, world.start()};
    const std::array<ticket, 2> tickets{world.ticket_of(all[0]), world.ticket_of(all[2])};
    run(
        [&] {
            std::array<MPI_Status, 3> statuses{};
            EXPECT_EQ(MPI_Waitall(3, all.data(), statuses.data()), MPI_SUCCESS);
            EXPECT_EQ(all[0], MPI_REQUEST_NULL);
            EXPECT_EQ(all[2], MPI_REQUEST_NULL);
            EXPECT_EQ(statuses[0].MPI_TAG, 1);
            EXPECT_EQ(statuses[2].MPI_TAG, 2);
        },
        [&] {
            world.complete(tickets[1], {.tag = 2});
            let_run();
            world.complete(tickets[0], {.tag = 1});
        });
    EXPECT_EQ(task_.blocks, 1);
}

TEST_P(blocking_tasks, whose_message_is_there_are_not_blocked) {
    MPI_Request r = world.start();
    world.complete_in_progress(r); // the test that comes first makes progress
    const in_task scope(task_);
    EXPECT_EQ(MPI_Wait(&r, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(task_.blocks, 0);
}

TEST_P(blocking_tasks, get_the_error_of_the_operation) {
    MPI_Request r = world.start();
    const ticket t = world.ticket_of(r);
    run([&] { EXPECT_EQ(MPI_Wait(&r, MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE); },
        [&] { world.complete(t, {.error = MPI_ERR_TRUNCATE}); });
    EXPECT_EQ(reported(), codes{MPI_ERR_TRUNCATE});
}

TEST_P(blocking_tasks, get_the_errors_of_several_operations_in_their_statuses) {
    std::array<MPI_Request, 2> all{world.start(), world.start()};
    const std::array<ticket, 2> tickets{world.ticket_of(all[0]), world.ticket_of(all[1])};
    run(
        [&] {
            std::array<MPI_Status, 2> statuses{};
            EXPECT_EQ(MPI_Waitall(2, all.data(), statuses.data()), MPI_ERR_IN_STATUS);
            EXPECT_EQ(statuses[0].MPI_ERROR, MPI_ERR_TRUNCATE);
            EXPECT_EQ(statuses[1].MPI_ERROR, MPI_SUCCESS);
        },
        [&] {
            world.complete(tickets[0], {.error = MPI_ERR_TRUNCATE});
            world.complete(tickets[1]);
        });
    EXPECT_EQ(reported(), codes{MPI_ERR_TRUNCATE});
}

// MPI cannot block for one of several, nor for a persistent request that stays the user's: the task sleeps between
// tests.
TEST_P(blocking_tasks, sleep_between_tests_where_no_continuation_can_wait) {
    std::array<MPI_Request, 2> all{world.start(), world.start()};
    const ticket first = world.ticket_of(all[0]);
    const ticket second = world.ticket_of(all[1]);
    std::thread worker([&] {
        const in_task scope(task_);
        int index = -1;
        EXPECT_EQ(MPI_Waitany(2, all.data(), &index, MPI_STATUS_IGNORE), MPI_SUCCESS);
        EXPECT_EQ(index, 1);
    });
    EXPECT_TRUE(eventually([&] { return task_.sleeps >= 3; }));
    world.complete(second);
    worker.join();
    EXPECT_EQ(task_.blocks, 0);
    world.complete(first);
    EXPECT_EQ(MPI_Wait(&all[0], MPI_STATUS_IGNORE), MPI_SUCCESS);
}

TEST_P(blocking_tasks, keep_the_persistent_requests_that_they_wait_for) {
    MPI_Request r = MPI_REQUEST_NULL;
    MPI_Recv_init(nullptr, 0, MPI_INT, 0, 0, MPI_COMM_SELF, &r);
    for (int round = 0; round < 2; ++round) {
        MPI_Start(&r);
        const ticket t = world.ticket_of(r);
        const int before = task_.sleeps;
        std::thread worker([&] {
            const in_task scope(task_);
            EXPECT_EQ(round == 0 ? MPI_Wait(&r, MPI_STATUS_IGNORE) : MPI_Waitall(1, &r, MPI_STATUSES_IGNORE),
                      MPI_SUCCESS);
            EXPECT_NE(r, MPI_REQUEST_NULL);
        });
        EXPECT_TRUE(eventually([&] { return task_.sleeps > before; }));
        world.complete(t);
        worker.join();
    }
    MPI_Request_free(&r);
}

TEST_P(blocking_tasks, are_not_blocked_in_a_callback) {
    note n;
    MPI_Request outer = world.start();
    const ticket t = world.ticket_of(outer);
    cr other;
    MPI_Request inner = world.start();
    n.inside = [&] {
        world.complete_in_progress(inner);
        EXPECT_EQ(MPI_Wait(&inner, MPI_STATUS_IGNORE), MPI_SUCCESS);
    };
    ASSERT_EQ(attach(outer, n, other), 0);
    const in_task scope(task_);
    world.complete(t);
    EXPECT_TRUE(eventually([&] { return n.runs == 1; }));
    EXPECT_EQ(task_.blocks, 0);
}

TEST_P(blocking_tasks, are_not_blocked_on_a_thread_that_is_not_task_aware) {
    int before = -1;
    EXPECT_EQ(thence_task_thread_aware(0, &before), MPI_SUCCESS);
    EXPECT_EQ(before, 1);
    MPI_Request r = world.start();
    const ticket t = world.ticket_of(r);
    std::thread other([&] { world.complete(t); });
    {
        const in_task scope(task_);
        EXPECT_EQ(MPI_Wait(&r, MPI_STATUS_IGNORE), MPI_SUCCESS);
    }
    other.join();
    EXPECT_EQ(task_.blocks, 0);
    EXPECT_EQ(thence_task_thread_aware(1, &before), MPI_SUCCESS);
    EXPECT_EQ(before, 0);
    EXPECT_EQ(thence_task_thread_aware(-1, &before), MPI_SUCCESS);
    EXPECT_EQ(before, 1);
}

TEST_P(blocking_tasks, wait_all_the_same_if_the_continuation_request_was_freed) {
    MPI_Request freed = MPI_REQUEST_NULL;
    EXPECT_EQ(thence_cr_create(0, -1, MPI_INFO_NULL, &freed), MPI_SUCCESS);
    EXPECT_EQ(thence_task_blocking_calls(freed), MPI_SUCCESS);
    EXPECT_EQ(thence_free(&freed), MPI_SUCCESS);
    MPI_Request r = world.start();
    const ticket t = world.ticket_of(r);
    std::thread worker([&] {
        const in_task scope(task_);
        EXPECT_EQ(MPI_Wait(&r, MPI_STATUS_IGNORE), MPI_SUCCESS);
    });
    EXPECT_TRUE(eventually([&] { return task_.sleeps > 0; }));
    world.complete(t);
    worker.join();
    EXPECT_EQ(task_.blocks, 0);
}

TEST_P(blocking_tasks, need_a_continuation_request_that_runs_without_a_test) {
    world.handler = MPI_ERRORS_RETURN;
    cr poll_only(THENCE_CR_POLL_ONLY);
    EXPECT_EQ(class_of(thence_task_blocking_calls(poll_only)), MPI_ERR_ARG);
    MPI_Request r = world.start();
    EXPECT_EQ(class_of(thence_task_blocking_calls(r)), MPI_ERR_REQUEST);
    world.complete(r);
    EXPECT_EQ(MPI_Wait(&r, MPI_STATUS_IGNORE), MPI_SUCCESS);
    reported();
}

// MPI_Finalize while a task polls: it is reported, and stays blocked. It makes no call of MPI any more.
[[noreturn]] void finalize_beside_a_poll(const variant &v) {
    library l(v);
    cr c;
    refuses_to_block = 0;
    thence_task_runtime_add(&scripted);
    thence_task_blocking_calls(c);
    static scripted_task task;
    static std::array<MPI_Request, 2> all{world.start(), world.start()};
    std::thread([] {
        const in_task scope(task);
        int index = -1;
        MPI_Waitany(2, all.data(), &index, MPI_STATUS_IGNORE);
    }).detach();
    const bool polls = eventually([] { return task.sleeps >= 3; });
    MPI_Finalize();
    const bool stays_blocked = eventually([] { return task.blocks == 1; });
    scripted.unblock(&task);
    const bool still = eventually([] { return task.blocks == 2; });
    std::fprintf(stderr, "polls %d, blocked %d, after a stray unblock() %d\n", polls, stays_blocked, still);
    std::_Exit(0);
}

class polling_tasks : public ::testing::TestWithParam<variant> {};

TEST_P(polling_tasks, are_reported_at_finalize_and_stay_blocked) {
    EXPECT_EXIT(finalize_beside_a_poll(GetParam()), ::testing::ExitedWithCode(0),
                "MPI_Finalize: 1 task is in an MPI call that will not return\n"
                "[^\n]*1 task of a test's in MPI_Waitany for [^\n]*, called at [^\n]*\n"
                ".*polls 1, blocked 1, after a stray unblock\\(\\) 1");
}

// The same for a task that the runtime refuses to block: its worker makes progress for it, and no more then.
[[noreturn]] void finalize_beside_a_refusal(const variant &v) {
    library l(v);
    static cr c;
    refuses_to_block = 1000000000;
    thence_task_runtime_add(&scripted);
    static MPI_Request request = world.start();
    std::thread([] {
        static scripted_task task;
        const in_task scope(task);
        thence_task_wait(1, &request, 0, MPI_STATUSES_IGNORE, c);
    }).detach();
    const bool refused = eventually([] { return refuses_to_block < 1000000000; });
    const auto before = world.progress_calls.load();
    const bool polls = refused && eventually([&] { return world.progress_calls > before + 3; });
    MPI_Finalize();
    const auto after = world.progress_calls.load();
    for (int i = 0; i < 10000; ++i) {
        std::this_thread::yield();
    }
    std::fprintf(stderr, "polls %d, and %llu calls later\n", polls, world.progress_calls - after);
    std::_Exit(0);
}

TEST_P(polling_tasks, that_the_runtime_refuses_to_block_stop_at_finalize) {
    EXPECT_EXIT(finalize_beside_a_refusal(GetParam()), ::testing::ExitedWithCode(0),
                "    blocks 1 task of a test's\n.*polls 1, and 0 calls later");
}

THENCE_RULES(blocking_tasks);
THENCE_RULES(polling_tasks);

} // namespace
