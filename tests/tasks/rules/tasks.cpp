// SPDX-License-Identifier: BSD-3-Clause
// Tasks of a runtime that gives a table: operations delay the end of a task, or block it. What a table lacks is an
// error.
#include "scripted_tasks.hpp"

#include <array>
#include <atomic>
#include <chrono>
#include <thread>

namespace {

using namespace thence::fake;

TEST_P(tasks, current_is_that_of_the_runtime_added_last_that_runs_one) {
    EXPECT_EQ(current().runtime, nullptr);
    EXPECT_EQ(thence_task_runtime_add(&only_current), MPI_SUCCESS);
    scripted_task task;
    {
        const in_task scope(task);
        EXPECT_EQ(current().runtime, &only_current);
        EXPECT_EQ(current().handle, &task);
    }
    EXPECT_EQ(current().handle, nullptr);
    const thence_task_runtime *each = nullptr;
    EXPECT_EQ(thence_task_runtime_get(0, &each), MPI_SUCCESS);
    EXPECT_EQ(each, &only_current);
    EXPECT_EQ(thence_task_runtime_get(1, &each), MPI_SUCCESS);
    EXPECT_EQ(each, &scripted);
    EXPECT_EQ(thence_task_runtime_get(2, &each), MPI_SUCCESS);
    EXPECT_EQ(each, nullptr);
    EXPECT_EQ(thence_task_runtime_remove(&only_current), MPI_SUCCESS);
    const in_task scope(task);
    EXPECT_EQ(current().runtime, &scripted);
}

TEST_P(tasks, are_complete_after_their_operations) {
    cr c;
    scripted_task task;
    std::array<MPI_Status, 2> statuses{};
    std::array<MPI_Request, 2> requests{world.start(), world.start()};
    std::array<ticket, 2> tickets{world.ticket_of(requests[0]), world.ticket_of(requests[1])};
    {
        const in_task scope(task);
        const thence_task self = current();
        EXPECT_EQ(thence_task_attach(2, requests.data(), 0, statuses.data(), &self, c), MPI_SUCCESS);
        EXPECT_EQ(task.events, 2);
    }
    world.complete(tickets[1], {.tag = 11});
    let_run();
    EXPECT_EQ(task.events, 2);
    world.complete(tickets[0], {.tag = 10});
    EXPECT_TRUE(eventually([&] { return task.events == 1; }));
    EXPECT_EQ(statuses[0].MPI_TAG, 10);
    EXPECT_EQ(statuses[1].MPI_TAG, 11);
    EXPECT_TRUE(eventually([&] { return c.test(); }));
}

// The event of a task is lowered before the callback that lowers it has returned.
TEST_P(tasks, callbacks_that_have_begun_are_waited_for_and_operations_are_not) {
    cr c;
    struct callback {
        MPI_Request cr;
        std::atomic<bool> runs{false};
        std::atomic<bool> ends{false};
        int flag_inside = -1;
        static int run(int, MPI_Status *, void *data) {
            callback &self = *static_cast<callback *>(data);
            EXPECT_EQ(thence_task_wait_callbacks(self.cr, &self.flag_inside), MPI_SUCCESS);
            self.runs = true;
            while (!self.ends) {
                std::this_thread::yield();
            }
            return MPI_SUCCESS;
        }
    } held{c};
    MPI_Request request = world.start();
    const ticket t = world.ticket_of(request);
    int flag = -1;
    EXPECT_EQ(thence_task_wait_callbacks(c, &flag), MPI_SUCCESS);
    EXPECT_EQ(flag, 1);
    EXPECT_EQ(thence_attach(1, &request, &callback::run, &held, 0, MPI_STATUS_IGNORE, c, &flag), MPI_SUCCESS);
    EXPECT_EQ(thence_task_wait_callbacks(c, &flag), MPI_SUCCESS);
    EXPECT_EQ(flag, 0) << "an operation is outstanding";
    std::thread completes([&] {
        world.complete(t);
        EXPECT_TRUE(eventually([&] { return held.runs.load(); }));
    });
    while (!held.runs) {
        std::this_thread::yield();
    }
    EXPECT_EQ(held.flag_inside, 0) << "in the callback itself";
    std::thread lets_it_end([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
        held.ends = true;
    });
    EXPECT_EQ(thence_task_wait_callbacks(c, &flag), MPI_SUCCESS);
    EXPECT_EQ(flag, 1);
    EXPECT_TRUE(held.ends);
    completes.join();
    lets_it_end.join();
    EXPECT_EQ(thence_task_wait_callbacks(c, nullptr), MPI_ERR_ARG);
    EXPECT_EQ(thence_task_wait_callbacks(MPI_REQUEST_NULL, &flag), MPI_ERR_REQUEST);
}

TEST_P(tasks, keep_their_events_if_all_is_complete_already) {
    cr c;
    scripted_task task;
    const in_task scope(task);
    const thence_task self = current();
    MPI_Request none = MPI_REQUEST_NULL;
    EXPECT_EQ(thence_task_attach(1, &none, 0, MPI_STATUSES_IGNORE, &self, c), MPI_SUCCESS);
    EXPECT_EQ(task.events, 1);
}

TEST_P(tasks, get_the_error_of_an_operation) {
    cr c;
    scripted_task task;
    const in_task scope(task);
    const thence_task self = current();
    MPI_Request r = world.start();
    const ticket t = world.ticket_of(r);
    EXPECT_EQ(thence_task_attach(1, &r, 0, MPI_STATUSES_IGNORE, &self, c), MPI_SUCCESS);
    world.complete(t, {.error = MPI_ERR_TRUNCATE});
    EXPECT_TRUE(eventually([&] { return task.events == 1; }));
    EXPECT_EQ(task.error, MPI_ERR_TRUNCATE);
    EXPECT_TRUE(eventually([&] { return c.test(); }));
}

// The callback of an operation finds the runtime of its task also if another runtime was removed and added meanwhile.
TEST_P(tasks, of_two_runtimes_do_not_mix) {
    cr c;
    thence_task_runtime other = scripted;
    other.name = "another";
    static std::atomic<int> lowered_elsewhere;
    lowered_elsewhere = 0;
    other.lower_events = [](void *task, uint64_t n, int error) {
        ++lowered_elsewhere;
        return lower_events(task, n, error);
    };
    scripted_task task;
    const in_task scope(task);
    const thence_task mine{&scripted, &task};
    MPI_Request r = world.start();
    const ticket t = world.ticket_of(r);
    EXPECT_EQ(thence_task_attach(1, &r, 0, MPI_STATUSES_IGNORE, &mine, c), MPI_SUCCESS);
    EXPECT_EQ(thence_task_runtime_add(&other), MPI_SUCCESS);
    const thence_task theirs = current();
    EXPECT_EQ(theirs.runtime, &other);
    MPI_Request r2 = world.start();
    const ticket t2 = world.ticket_of(r2);
    EXPECT_EQ(thence_task_attach(1, &r2, 0, MPI_STATUSES_IGNORE, &theirs, c), MPI_SUCCESS);
    world.complete(t);
    EXPECT_TRUE(eventually([&] { return task.events == 2; }));
    EXPECT_EQ(lowered_elsewhere, 0);
    world.complete(t2);
    EXPECT_TRUE(eventually([&] { return task.events == 1; }));
    EXPECT_EQ(lowered_elsewhere, 1);
    EXPECT_TRUE(eventually([&] { return c.test(); }));
    EXPECT_EQ(thence_task_runtime_remove(&other), MPI_SUCCESS);
}

TEST_P(tasks, block_until_their_operations_are_complete) {
    cr c;
    scripted_task task;
    MPI_Status status{};
    MPI_Request r = world.start();
    const ticket t = world.ticket_of(r);
    std::atomic<bool> over{false};
    std::thread worker([&] {
        const in_task scope(task);
        EXPECT_EQ(thence_task_wait(1, &r, 0, &status, c), MPI_SUCCESS);
        over = true;
    });
    EXPECT_TRUE(eventually([&] { return task.blocks == 1; }));
    EXPECT_FALSE(over);
    world.complete(t, {.tag = 5});
    EXPECT_TRUE(eventually([&] { return over.load(); }));
    worker.join();
    EXPECT_EQ(r, MPI_REQUEST_NULL);
    EXPECT_EQ(status.MPI_TAG, 5);
}

TEST_P(tasks, that_need_not_wait_are_not_blocked) {
    cr c;
    scripted_task task;
    const in_task scope(task);
    MPI_Request none = MPI_REQUEST_NULL;
    EXPECT_EQ(thence_task_wait(1, &none, 0, MPI_STATUSES_IGNORE, c), MPI_SUCCESS);
    EXPECT_EQ(thence_task_wait(0, nullptr, 0, MPI_STATUSES_IGNORE, c), MPI_SUCCESS);
    EXPECT_EQ(task.blocks, 0);
}

// An unblock of the program's own may come while the task waits for an operation.
TEST_P(tasks, that_are_unblocked_too_early_block_again) {
    cr c;
    scripted_task task;
    task.unblocked.release();
    MPI_Request r = world.start();
    const ticket t = world.ticket_of(r);
    std::atomic<bool> over{false};
    std::thread worker([&] {
        const in_task scope(task);
        EXPECT_EQ(thence_task_wait(1, &r, 0, MPI_STATUSES_IGNORE, c), MPI_SUCCESS);
        over = true;
    });
    EXPECT_TRUE(eventually([&] { return task.blocks == 2; }));
    EXPECT_FALSE(over);
    world.complete(t);
    EXPECT_TRUE(eventually([&] { return over.load(); }));
    worker.join();
}

TEST_P(tasks, that_the_runtime_does_not_block_wait_all_the_same) {
    cr c;
    scripted_task task;
    refuses_to_block = 1000000000;
    MPI_Request r = world.start();
    const ticket t = world.ticket_of(r);
    std::thread other([&] { world.complete(t); });
    {
        const in_task scope(task);
        EXPECT_EQ(thence_task_wait(1, &r, 0, MPI_STATUSES_IGNORE, c), MPI_SUCCESS);
    }
    other.join();
    EXPECT_EQ(task.blocks, 0);
    EXPECT_FALSE(task.unblocked.try_acquire()) << "it was not blocked, so it must not be unblocked";
}

// A runtime may free what belongs to a task when the task ends, so no unblock() may come after that.
TEST_P(tasks, end_only_after_they_have_been_unblocked) {
    cr c;
    scripted_task task;
    for (int i = 1; i <= 300; ++i) {
        MPI_Request r = world.start();
        const ticket t = world.ticket_of(r);
        std::thread worker([&] {
            const in_task scope(task);
            EXPECT_EQ(thence_task_wait(1, &r, 0, MPI_STATUSES_IGNORE, c), MPI_SUCCESS);
        });
        world.complete(t); // before, while or after it is attached
        EXPECT_TRUE(eventually([&] { return c.test(); }));
        worker.join();
        EXPECT_FALSE(task.unblocked.try_acquire()) << i;
    }
}

TEST_P(tasks, return_the_error_of_the_operation_they_waited_for) {
    cr c;
    scripted_task task;
    MPI_Request r = world.start();
    const ticket t = world.ticket_of(r);
    std::thread worker([&] {
        const in_task scope(task);
        EXPECT_EQ(thence_task_wait(1, &r, 0, MPI_STATUSES_IGNORE, c), MPI_ERR_TRUNCATE);
    });
    EXPECT_TRUE(eventually([&] { return task.blocks == 1; }));
    world.complete(t, {.error = MPI_ERR_TRUNCATE});
    EXPECT_TRUE(eventually([&] { return c.test(); }));
    worker.join();
}

TEST_P(tasks, without_what_a_call_needs_are_refused_and_nothing_changes) {
    cr c;
    cr poll_only(THENCE_CR_POLL_ONLY);
    scripted_task task;
    MPI_Request r = world.start();
    const MPI_Request before = r;
    const auto waits = [&](MPI_Request to) { return class_of(thence_task_wait(1, &r, 0, MPI_STATUSES_IGNORE, to)); };
    const auto attaches = [&](const thence_task *to) {
        return class_of(thence_task_attach(1, &r, 0, MPI_STATUSES_IGNORE, to, c));
    };
    EXPECT_EQ(waits(c), MPI_ERR_UNSUPPORTED_OPERATION) << "no task";
    EXPECT_EQ(attaches(nullptr), MPI_ERR_ARG);
    const thence_task no_task{nullptr, nullptr};
    EXPECT_EQ(attaches(&no_task), MPI_ERR_ARG);
    const thence_task unknown{&only_current, &task};
    EXPECT_EQ(attaches(&unknown), MPI_ERR_ARG) << "its runtime is not added";
    {
        const in_task scope(task);
        EXPECT_EQ(waits(poll_only), MPI_ERR_ARG);
        EXPECT_EQ(waits(MPI_REQUEST_NULL), MPI_ERR_REQUEST);
        const thence_task self = current();
        EXPECT_EQ(class_of(thence_task_attach(-1, &r, 0, MPI_STATUSES_IGNORE, &self, c)), MPI_ERR_ARG);
        EXPECT_EQ(class_of(thence_task_attach(1, &r, ~0U, MPI_STATUSES_IGNORE, &self, c)), MPI_ERR_ARG);
        EXPECT_EQ(class_of(thence_task_attach(1, &r, 0, MPI_STATUSES_IGNORE, &self, MPI_REQUEST_NULL)),
                  MPI_ERR_REQUEST);
        refuses_to_raise = true;
        EXPECT_EQ(attaches(&self), MPI_ERR_OTHER);
        EXPECT_EQ(thence_task_runtime_add(&only_current), MPI_SUCCESS);
        EXPECT_EQ(waits(c), MPI_ERR_UNSUPPORTED_OPERATION);
        const thence_task poor = current();
        EXPECT_EQ(attaches(&poor), MPI_ERR_UNSUPPORTED_OPERATION);
        EXPECT_EQ(thence_task_runtime_remove(&only_current), MPI_SUCCESS);
    }
    EXPECT_EQ(task.events, 1);
    EXPECT_EQ(task.blocks, 0);
    EXPECT_EQ(r, before);
    EXPECT_EQ(c.registered(), 0);
    world.complete(world.ticket_of(r));
    EXPECT_EQ(MPI_Wait(&r, MPI_STATUS_IGNORE), MPI_SUCCESS);
}

TEST_P(tasks, are_not_blocked_in_a_callback) {
    cr c;
    scripted_task task;
    note n;
    int code = MPI_SUCCESS;
    MPI_Request r = world.start();
    MPI_Request second = world.start();
    const ticket t = world.ticket_of(r);
    n.inside = [&] {
        const in_task scope(task);
        code = class_of(thence_task_wait(1, &second, 0, MPI_STATUSES_IGNORE, c));
    };
    ASSERT_EQ(attach(r, n, c), 0);
    world.complete(t);
    EXPECT_TRUE(eventually([&] { return n.runs == 1; }));
    EXPECT_EQ(code, MPI_ERR_PENDING);
    EXPECT_NE(second, MPI_REQUEST_NULL);
    world.complete(world.ticket_of(second));
    EXPECT_EQ(MPI_Wait(&second, MPI_STATUS_IGNORE), MPI_SUCCESS);
}

THENCE_RULES(tasks);

} // namespace
