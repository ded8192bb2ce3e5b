// SPDX-License-Identifier: BSD-3-Clause
// The tables that the library gives, and tables that are wrong.
#include "scripted_tasks.hpp"

#include <array>
#include <initializer_list>

namespace {

using namespace thence::fake;

class task_runtimes : public tasks {};

TEST_P(task_runtimes, plain_threads_can_be_blocked) {
    EXPECT_EQ(thence_task_runtime_add(thence_task_runtime_threads()), MPI_SUCCESS);
    cr c;
    MPI_Request r = world.start();
    const ticket t = world.ticket_of(r);
    std::atomic<bool> over{false};
    std::thread worker([&] {
        const thence_task self = current();
        EXPECT_EQ(self.runtime, thence_task_runtime_threads());
        EXPECT_EQ(class_of(thence_task_attach(1, &r, 0, MPI_STATUSES_IGNORE, &self, c)), MPI_ERR_UNSUPPORTED_OPERATION);
        EXPECT_EQ(thence_task_wait(1, &r, 0, MPI_STATUSES_IGNORE, c), MPI_SUCCESS);
        over = true;
    });
    EXPECT_TRUE(eventually([&] { return c.registered() == 1; }));
    EXPECT_FALSE(over);
    world.complete(t);
    EXPECT_TRUE(eventually([&] { return over.load(); }));
    worker.join();
    EXPECT_EQ(thence_task_runtime_remove(thence_task_runtime_threads()), MPI_SUCCESS);
}

TEST_P(task_runtimes, detached_end_when_body_and_operations_have_ended) {
    EXPECT_EQ(thence_task_runtime_add(thence_task_runtime_detached()), MPI_SUCCESS);
    cr c;
    std::atomic<int> completed{0};
    const auto complete = [](void *event) { ++*static_cast<std::atomic<int> *>(event); };
    MPI_Request r = world.start();
    const ticket t = world.ticket_of(r);
    EXPECT_EQ(class_of(thence_detached_end()), MPI_ERR_ARG);
    EXPECT_EQ(class_of(thence_detached_begin(nullptr, nullptr)), MPI_ERR_ARG);
    EXPECT_EQ(thence_detached_begin(complete, &completed), MPI_SUCCESS);
    const thence_task outer = current();
    EXPECT_EQ(outer.runtime, thence_task_runtime_detached());
    EXPECT_EQ(thence_task_attach(1, &r, 0, MPI_STATUSES_IGNORE, &outer, c), MPI_SUCCESS);
    {
        std::atomic<int> inner{0}; // of a task that this thread runs meanwhile
        EXPECT_EQ(thence_detached_begin(complete, &inner), MPI_SUCCESS);
        EXPECT_NE(current().handle, outer.handle);
        EXPECT_EQ(thence_detached_end(), MPI_SUCCESS);
        EXPECT_EQ(inner, 1);
    }
    EXPECT_EQ(current().handle, outer.handle);
    MPI_Request second = world.start();
    EXPECT_EQ(class_of(thence_task_wait(1, &second, 0, MPI_STATUSES_IGNORE, c)), MPI_ERR_UNSUPPORTED_OPERATION);
    EXPECT_EQ(thence_detached_end(), MPI_SUCCESS);
    EXPECT_EQ(current().handle, nullptr);
    let_run();
    EXPECT_EQ(completed, 0);
    world.complete(t);
    EXPECT_TRUE(eventually([&] { return completed == 1; }));
    world.complete(world.ticket_of(second));
    EXPECT_EQ(MPI_Wait(&second, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_TRUE(eventually([&] { return c.test(); }));
    EXPECT_EQ(thence_task_runtime_remove(thence_task_runtime_detached()), MPI_SUCCESS);
}

TEST_P(task_runtimes, detached_that_are_begun_here_may_be_completed_elsewhere) {
    EXPECT_EQ(thence_task_runtime_add(thence_task_runtime_detached()), MPI_SUCCESS);
    constexpr int rounds = 300;
    std::atomic<int> completed{0};
    for (int i = 0; i < rounds; ++i) {
        EXPECT_EQ(thence_detached_begin([](void *event) { ++*static_cast<std::atomic<int> *>(event); }, &completed),
                  MPI_SUCCESS);
        const thence_task task = current();
        EXPECT_EQ(task.runtime->raise_events(task.handle, 1), 0);
        std::thread([task] { EXPECT_EQ(task.runtime->lower_events(task.handle, 1, MPI_SUCCESS), 0); }).join();
        EXPECT_EQ(thence_detached_end(), MPI_SUCCESS);
        EXPECT_EQ(completed, i + 1);
    }
    EXPECT_EQ(thence_task_runtime_remove(thence_task_runtime_detached()), MPI_SUCCESS);
}

TEST_P(task_runtimes, detached_are_not_current_while_their_body_pauses) {
    EXPECT_EQ(thence_task_runtime_add(thence_task_runtime_detached()), MPI_SUCCESS);
    std::atomic<int> completed{0};
    const auto complete = [](void *event) { ++*static_cast<std::atomic<int> *>(event); };
    void *paused = &completed;
    EXPECT_EQ(thence_detached_pause(&paused), MPI_SUCCESS) << "outside of a body";
    EXPECT_EQ(paused, nullptr);
    EXPECT_EQ(thence_detached_resume(paused), MPI_SUCCESS);
    EXPECT_EQ(class_of(thence_detached_pause(nullptr)), MPI_ERR_ARG);

    EXPECT_EQ(thence_detached_begin(complete, &completed), MPI_SUCCESS);
    const void *const outer = current().handle;
    EXPECT_EQ(thence_detached_pause(&paused), MPI_SUCCESS);
    EXPECT_EQ(current().handle, nullptr) << "a plain task that the thread runs";
    EXPECT_EQ(class_of(thence_detached_end()), MPI_ERR_ARG);
    EXPECT_EQ(thence_detached_begin(complete, &completed), MPI_SUCCESS); // another detached task
    EXPECT_NE(current().handle, nullptr);
    EXPECT_EQ(class_of(thence_detached_resume(paused)), MPI_ERR_ARG);
    EXPECT_NE(current().handle, outer) << "nothing has changed";
    EXPECT_EQ(thence_detached_end(), MPI_SUCCESS);
    EXPECT_EQ(completed, 1);
    EXPECT_EQ(current().handle, nullptr);
    EXPECT_EQ(thence_detached_resume(paused), MPI_SUCCESS);
    EXPECT_EQ(current().handle, outer);
    EXPECT_EQ(thence_detached_end(), MPI_SUCCESS);
    EXPECT_EQ(completed, 2);
    EXPECT_EQ(thence_task_runtime_remove(thence_task_runtime_detached()), MPI_SUCCESS);
}

TEST_P(task_runtimes, with_events_are_told_on_threads_that_are_aware) {
    EXPECT_EQ(thence_task_with_events(), nullptr) << "no task";
    EXPECT_EQ(thence_task_runtime_add(thence_task_runtime_threads()), MPI_SUCCESS);
    EXPECT_EQ(thence_task_with_events(), nullptr) << "threads have no events";
    EXPECT_EQ(thence_task_runtime_add(thence_task_runtime_detached()), MPI_SUCCESS);
    EXPECT_EQ(thence_task_with_events(), nullptr) << "it has no task here, and the next one has no events";
    scripted_task task;
    running = &task;
    EXPECT_EQ(thence_task_runtime_remove(thence_task_runtime_threads()), MPI_SUCCESS);
    cr c;
    MPI_Request r = world.start();
    const ticket t = world.ticket_of(r);
    const thence_task *self = thence_task_with_events();
    ASSERT_NE(self, nullptr) << "of the runtime that was added first";
    EXPECT_EQ(self->handle, &task);
    EXPECT_EQ(thence_task_attach(1, &r, 0, MPI_STATUSES_IGNORE, self, c), MPI_SUCCESS);
    EXPECT_EQ(task.events, 2);
    EXPECT_EQ(thence_detached_begin([](void *) {}, nullptr), MPI_SUCCESS);
    EXPECT_EQ(thence_task_with_events()->runtime, thence_task_runtime_detached()) << "of the one that was added last";
    EXPECT_EQ(thence_detached_end(), MPI_SUCCESS);
    EXPECT_EQ(thence_task_thread_aware(0, nullptr), MPI_SUCCESS);
    EXPECT_EQ(thence_task_with_events(), nullptr);
    EXPECT_EQ(thence_task_thread_aware(1, nullptr), MPI_SUCCESS);
    world.complete(t);
    EXPECT_TRUE(eventually([&] { return task.events == 1; }));
    EXPECT_TRUE(eventually([&] { return c.test(); }));
    running = nullptr;
    EXPECT_EQ(thence_task_runtime_remove(thence_task_runtime_detached()), MPI_SUCCESS);
}

TEST_P(task_runtimes, of_a_table_that_is_wrong_are_not_added) {
    const auto adds = [](const thence_task_runtime *table) { return class_of(thence_task_runtime_add(table)); };
    EXPECT_EQ(adds(nullptr), MPI_ERR_ARG);
    EXPECT_EQ(adds(&scripted), MPI_ERR_ARG) << "added already";
    for (auto spoil : std::initializer_list<void (*)(thence_task_runtime &)>{
             [](auto &t) { t.size = sizeof(void *); }, [](auto &t) { t.name = nullptr; },
             [](auto &t) { t.current = nullptr; }, [](auto &t) { t.block = nullptr; },
             [](auto &t) { t.unblock = nullptr; }, [](auto &t) { t.raise_events = nullptr; },
             [](auto &t) { t.lower_events = nullptr; }}) {
        thence_task_runtime table = scripted;
        spoil(table);
        EXPECT_EQ(adds(&table), MPI_ERR_ARG);
    }
    std::array<thence_task_runtime, 8> many;
    many.fill(scripted);
    for (int i = 0; i < 7; ++i) {
        EXPECT_EQ(adds(&many[static_cast<std::size_t>(i)]), MPI_SUCCESS);
    }
    EXPECT_EQ(adds(&many[7]), MPI_ERR_NO_MEM);
    for (int i = 0; i < 7; ++i) {
        EXPECT_EQ(thence_task_runtime_remove(&many[static_cast<std::size_t>(i)]), MPI_SUCCESS);
    }
    EXPECT_EQ(class_of(thence_task_runtime_remove(&many[0])), MPI_ERR_ARG);
    EXPECT_EQ(class_of(thence_task_runtime_remove(nullptr)), MPI_ERR_ARG);
    EXPECT_EQ(class_of(thence_task_current(nullptr)), MPI_ERR_ARG);
    const thence_task_runtime *each = nullptr;
    EXPECT_EQ(class_of(thence_task_runtime_get(-1, &each)), MPI_ERR_ARG);
    EXPECT_EQ(class_of(thence_task_runtime_get(0, nullptr)), MPI_ERR_ARG);
    EXPECT_EQ(class_of(thence_task_runtime_alpi(nullptr, nullptr)), MPI_ERR_ARG);
}

THENCE_RULES(task_runtimes);

} // namespace
