// SPDX-License-Identifier: BSD-3-Clause
// TAMPI's functions on the fake MPI: operations are bound to the calling task, and complete when the test says so.
#include "tasks/tampi/tampi.hpp"
#include "library.hpp"
#include "scripted_tasks.hpp"

#include <TAMPI.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

namespace {

using namespace thence::fake;

class tampi : public on_fake {
protected:
    tampi() {
        world.handler = MPI_ERRORS_RETURN;
        refuses_to_raise = false;
        EXPECT_EQ(thence_task_runtime_add(&scripted), MPI_SUCCESS);
        EXPECT_EQ(thence::tampi::start(MPI_TASK_MULTIPLE, MPI_THREAD_MULTIPLE), MPI_TASK_MULTIPLE);
    }
    ~tampi() override {
        EXPECT_TRUE(eventually([&] { return registered() == 0; }));
        thence::tampi::stop();
        EXPECT_EQ(thence_task_runtime_remove(&scripted), MPI_SUCCESS);
    }
    static long registered() {
        thence_cr_info info{};
        EXPECT_EQ(thence_cr_query(thence::tampi::requests_of_tasks, &info, sizeof info), MPI_SUCCESS);
        return info.registered;
    }
    bool lowered_to(long events) {
        return eventually([&] { return task_.events == events; });
    }

    scripted_task task_;
};

TEST_P(tampi, iwait_returns_at_once_and_holds_the_task_until_the_operation_is_complete) {
    const in_task scope(task_);
    MPI_Request r = world.start();
    const ticket t = world.ticket_of(r);
    MPI_Status status{};
    EXPECT_EQ(TAMPI_Iwait(&r, &status), MPI_SUCCESS);
    EXPECT_EQ(r, MPI_REQUEST_NULL);
    EXPECT_EQ(task_.events, 2);
    world.complete(t, {.source = 4, .tag = 9});
    EXPECT_TRUE(lowered_to(1));
    EXPECT_EQ(status.MPI_SOURCE, 4);
    EXPECT_EQ(status.MPI_TAG, 9);
}

// The runtime looks at the status when the event is lowered, as a task that depends on this one would.
TEST_P(tampi, statuses_are_written_before_the_event_is_lowered) {
    static std::array<MPI_Status, 2> statuses;
    static std::atomic<int> tags_at_the_end;
    statuses = {};
    tags_at_the_end = 0;
    thence_task_runtime looks = scripted;
    looks.name = "one that looks";
    looks.lower_events = [](void *task, uint64_t n, int error) {
        tags_at_the_end = statuses[0].MPI_TAG * 100 + statuses[1].MPI_TAG;
        return lower_events(task, n, error);
    };
    EXPECT_EQ(thence_task_runtime_add(&looks), MPI_SUCCESS);
    std::array<MPI_Request, 2> all{world.start(), world.start()};
    const std::array<ticket, 2> tickets{world.ticket_of(all[0]), world.ticket_of(all[1])};
    {
        const in_task scope(task_);
        EXPECT_EQ(TAMPI_Iwaitall(2, all.data(), statuses.data()), MPI_SUCCESS);
    }
    world.complete(tickets[1], {.tag = 12});
    world.complete(tickets[0], {.tag = 11});
    EXPECT_TRUE(lowered_to(1));
    EXPECT_EQ(tags_at_the_end, 1112);
    EXPECT_EQ(thence_task_runtime_remove(&looks), MPI_SUCCESS);
}

TEST_P(tampi, several_iwaits_in_one_task_are_each_waited_for) {
    std::array<ticket, 3> tickets;
    {
        const in_task scope(task_);
        for (ticket &each : tickets) {
            MPI_Request r = world.start();
            each = world.ticket_of(r);
            EXPECT_EQ(TAMPI_Iwait(&r, MPI_STATUS_IGNORE), MPI_SUCCESS);
        }
    }
    EXPECT_EQ(task_.events, 4);
    for (long left = 3; left > 0; --left) {
        world.complete(tickets[static_cast<std::size_t>(left - 1)]);
        EXPECT_TRUE(lowered_to(left));
    }
}

TEST_P(tampi, a_task_whose_operations_are_complete_already_ends_at_once) {
    const in_task scope(task_);
    MPI_Request r = world.start();
    MPI_Status status{};
    world.complete(r, {.tag = 3});
    EXPECT_EQ(TAMPI_Iwait(&r, &status), MPI_SUCCESS);
    EXPECT_TRUE(lowered_to(1));
    EXPECT_EQ(r, MPI_REQUEST_NULL);
    EXPECT_EQ(status.MPI_TAG, 3);
}

TEST_P(tampi, null_requests_are_ignored_and_their_statuses_not_touched) {
    const in_task scope(task_);
    MPI_Request none = MPI_REQUEST_NULL;
    MPI_Status status{};
    status.MPI_TAG = 77;
    EXPECT_EQ(TAMPI_Iwait(&none, &status), MPI_SUCCESS);
    EXPECT_EQ(status.MPI_TAG, 77);
    std::array<MPI_Request, 5> all{MPI_REQUEST_NULL, world.start(), MPI_REQUEST_NULL, world.start(), MPI_REQUEST_NULL};
    const std::array<ticket, 2> tickets{world.ticket_of(all[1]), world.ticket_of(all[3])};
    std::array<MPI_Status, 5> statuses{};
    for (MPI_Status &each : statuses) {
        each.MPI_TAG = 77;
    }
    EXPECT_EQ(TAMPI_Iwaitall(5, all.data(), statuses.data()), MPI_SUCCESS);
    world.complete(tickets[0], {.tag = 1});
    world.complete(tickets[1], {.tag = 2});
    EXPECT_TRUE(lowered_to(1));
    EXPECT_EQ(statuses[0].MPI_TAG, 77);
    EXPECT_EQ(statuses[1].MPI_TAG, 1);
    EXPECT_EQ(statuses[2].MPI_TAG, 77);
    EXPECT_EQ(statuses[3].MPI_TAG, 2);
    EXPECT_EQ(statuses[4].MPI_TAG, 77);
    std::array<MPI_Request, 2> nulls{MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    EXPECT_EQ(TAMPI_Iwaitall(2, nulls.data(), MPI_STATUSES_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(TAMPI_Iwaitall(0, nullptr, MPI_STATUSES_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(task_.events, 1);
}

TEST_P(tampi, an_operation_that_fails_gives_its_error_to_the_task_and_to_the_error_handler) {
    const in_task scope(task_);
    MPI_Request r = world.start();
    const ticket t = world.ticket_of(r);
    MPI_Status status{};
    EXPECT_EQ(TAMPI_Iwait(&r, &status), MPI_SUCCESS);
    world.complete(t, {.error = MPI_ERR_TRUNCATE});
    EXPECT_TRUE(lowered_to(1));
    EXPECT_EQ(task_.error, MPI_ERR_TRUNCATE);
    EXPECT_EQ(status.MPI_ERROR, MPI_ERR_TRUNCATE);
    EXPECT_EQ(reported(), codes{MPI_ERR_TRUNCATE});
}

TEST_P(tampi, one_of_several_that_fails_does_not_keep_the_others) {
    std::array<MPI_Request, 2> all{world.start(), world.start()};
    const std::array<ticket, 2> tickets{world.ticket_of(all[0]), world.ticket_of(all[1])};
    std::array<MPI_Status, 2> statuses{};
    const in_task scope(task_);
    EXPECT_EQ(TAMPI_Iwaitall(2, all.data(), statuses.data()), MPI_SUCCESS);
    world.complete(tickets[0], {.error = MPI_ERR_TRUNCATE});
    world.complete(tickets[1], {.tag = 6});
    EXPECT_TRUE(lowered_to(1));
    EXPECT_EQ(statuses[0].MPI_ERROR, MPI_ERR_TRUNCATE);
    EXPECT_EQ(statuses[1].MPI_ERROR, MPI_SUCCESS);
    EXPECT_EQ(statuses[1].MPI_TAG, 6);
    EXPECT_EQ(reported(), codes{MPI_ERR_TRUNCATE});
}

// TAMPI 3.0.1 tests 32 Ki requests at a time, and the others wait. Here all are watched from the start.
TEST_P(tampi, any_number_of_operations_is_outstanding) {
    constexpr std::size_t many = 10000;
    std::vector<ticket> tickets(many);
    {
        const in_task scope(task_);
        for (ticket &each : tickets) {
            MPI_Request r = world.start();
            each = world.ticket_of(r);
            ASSERT_EQ(TAMPI_Iwait(&r, MPI_STATUS_IGNORE), MPI_SUCCESS);
        }
    }
    EXPECT_EQ(registered(), static_cast<long>(many));
    for (std::size_t i = many; i-- > 0;) { // the last one first
        world.complete(tickets[i]);
    }
    EXPECT_TRUE(lowered_to(1));
}

TEST_P(tampi, persistent_requests_stay_the_users) {
    MPI_Request r = MPI_REQUEST_NULL;
    MPI_Recv_init(nullptr, 0, MPI_INT, 0, 0, MPI_COMM_SELF, &r);
    for (int round = 1; round <= 3; ++round) {
        MPI_Start(&r);
        const ticket t = world.ticket_of(r);
        MPI_Status status{};
        {
            const in_task scope(task_);
            EXPECT_EQ(TAMPI_Iwait(&r, &status), MPI_SUCCESS);
        }
        EXPECT_NE(r, MPI_REQUEST_NULL);
        world.complete(t, {.tag = round});
        EXPECT_TRUE(lowered_to(1));
        EXPECT_EQ(status.MPI_TAG, round);
    }
    MPI_Request_free(&r);
}

// A request that a task has bound already is null. A persistent one is bound by both.
TEST_P(tampi, a_request_that_is_bound_already_is_null_or_bound_twice) {
    const in_task scope(task_);
    MPI_Request r = world.start();
    const ticket t = world.ticket_of(r);
    EXPECT_EQ(TAMPI_Iwait(&r, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(TAMPI_Iwait(&r, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(task_.events, 2);
    world.complete(t);
    EXPECT_TRUE(lowered_to(1));
    MPI_Recv_init(nullptr, 0, MPI_INT, 0, 0, MPI_COMM_SELF, &r);
    MPI_Start(&r);
    const ticket persistent = world.ticket_of(r);
    EXPECT_EQ(TAMPI_Iwait(&r, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(TAMPI_Iwait(&r, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(task_.events, 3);
    world.complete(persistent);
    EXPECT_TRUE(lowered_to(1));
    MPI_Request_free(&r);
}

TEST_P(tampi, a_request_that_stands_twice_in_an_array_is_refused) {
    const in_task scope(task_);
    std::vector<MPI_Request> all(600, MPI_REQUEST_NULL);
    for (const std::size_t count : {std::size_t{4}, std::size_t{40}, all.size()}) {
        all[1] = world.start();
        all[count - 1] = all[1];
        const MPI_Request before = all[1];
        const ticket t = world.ticket_of(before);
        EXPECT_EQ(class_of(TAMPI_Iwaitall(static_cast<int>(count), all.data(), MPI_STATUSES_IGNORE)), MPI_ERR_REQUEST);
        EXPECT_EQ(reported().size(), 1U);
        EXPECT_EQ(task_.events, 1);
        EXPECT_EQ(all[1], before);
        all[count - 1] = MPI_REQUEST_NULL;
        EXPECT_EQ(TAMPI_Iwaitall(static_cast<int>(count), all.data(), MPI_STATUSES_IGNORE), MPI_SUCCESS);
        world.complete(t);
        EXPECT_TRUE(lowered_to(1));
    }
}

TEST_P(tampi, many_requests_of_which_none_stands_twice_are_bound) {
    const in_task scope(task_);
    for (const int count : {9, 64, 600}) {
        std::vector<MPI_Request> all;
        std::vector<ticket> tickets;
        for (int i = 0; i < count; ++i) {
            all.push_back(world.start());
            tickets.push_back(world.ticket_of(all.back()));
        }
        EXPECT_EQ(TAMPI_Iwaitall(count, all.data(), MPI_STATUSES_IGNORE), MPI_SUCCESS);
        EXPECT_EQ(std::count(all.begin(), all.end(), MPI_REQUEST_NULL), count);
        for (const ticket &each : tickets) {
            EXPECT_GT(task_.events, 1);
            world.complete(each);
        }
        EXPECT_TRUE(lowered_to(1));
    }
}

TEST_P(tampi, bad_arguments_are_refused_in_tasks_and_outside) {
    const auto expect_all_refused = [&] {
        MPI_Request r = MPI_REQUEST_NULL;
        EXPECT_EQ(class_of(TAMPI_Iwait(nullptr, MPI_STATUS_IGNORE)), MPI_ERR_ARG);
        EXPECT_EQ(class_of(TAMPI_Iwaitall(-1, &r, MPI_STATUSES_IGNORE)), MPI_ERR_ARG);
        EXPECT_EQ(class_of(TAMPI_Iwaitall(1, nullptr, MPI_STATUSES_IGNORE)), MPI_ERR_ARG);
        EXPECT_EQ(reported().size(), 3U);
        EXPECT_EQ(TAMPI_Iwaitall(0, nullptr, MPI_STATUSES_IGNORE), MPI_SUCCESS);
    };
    expect_all_refused();
    const in_task scope(task_);
    expect_all_refused();
    EXPECT_EQ(task_.events, 1);
}

TEST_P(tampi, outside_of_a_task_iwait_is_wait) {
    MPI_Request r = world.start();
    world.complete_in_progress(r, {.tag = 8});
    MPI_Status status{};
    EXPECT_EQ(TAMPI_Iwait(&r, &status), MPI_SUCCESS);
    EXPECT_EQ(r, MPI_REQUEST_NULL);
    EXPECT_EQ(status.MPI_TAG, 8);
    std::array<MPI_Request, 2> all{MPI_REQUEST_NULL, world.start()};
    world.complete_in_progress(all[1], {.tag = 9});
    std::array<MPI_Status, 2> statuses{};
    statuses[0].MPI_TAG = 77;
    EXPECT_EQ(TAMPI_Iwaitall(2, all.data(), statuses.data()), MPI_SUCCESS);
    EXPECT_EQ(statuses[0].MPI_TAG, 77);
    EXPECT_EQ(statuses[1].MPI_TAG, 9);
}

TEST_P(tampi, a_thread_that_is_not_task_aware_is_outside_of_tasks) {
    EXPECT_EQ(TAMPI_Property_set(TAMPI_PROPERTY_THREAD_TASKAWARE, 0), MPI_SUCCESS);
    int value = -1;
    EXPECT_EQ(TAMPI_Property_get(TAMPI_PROPERTY_THREAD_TASKAWARE, &value), MPI_SUCCESS);
    EXPECT_EQ(value, 0);
    {
        const in_task scope(task_);
        MPI_Request r = world.start();
        world.complete_in_progress(r);
        EXPECT_EQ(TAMPI_Iwait(&r, MPI_STATUS_IGNORE), MPI_SUCCESS);
        EXPECT_EQ(task_.events, 1);
        EXPECT_EQ(task_.blocks, 0);
    }
    EXPECT_EQ(TAMPI_Property_set(TAMPI_PROPERTY_THREAD_TASKAWARE, 1), MPI_SUCCESS);
}

TEST_P(tampi, a_runtime_that_refuses_the_event_leaves_the_request) {
    refuses_to_raise = true;
    const in_task scope(task_);
    MPI_Request r = world.start();
    const MPI_Request before = r;
    EXPECT_EQ(class_of(TAMPI_Iwait(&r, MPI_STATUS_IGNORE)), MPI_ERR_OTHER);
    EXPECT_EQ(r, before);
    reported();
    world.complete(r);
    EXPECT_EQ(MPI_Wait(&r, MPI_STATUS_IGNORE), MPI_SUCCESS);
}

TEST_P(tampi, wrappers_of_3_leave_the_request_outside_of_a_task) {
    MPI_Request r = world.start();
    const MPI_Request before = r;
    EXPECT_EQ(thence_tampi_bind_(MPI_SUCCESS, &r, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(r, before);
    world.complete(r, {.tag = 5});
    MPI_Status status{};
    EXPECT_EQ(TAMPI_Wait(&r, &status), MPI_SUCCESS);
    EXPECT_EQ(status.MPI_TAG, 5);
    status.MPI_TAG = 77;
    EXPECT_EQ(TAMPI_Wait(&r, &status), MPI_SUCCESS); // null now
    EXPECT_EQ(TAMPI_Waitall(1, &r, &status), MPI_SUCCESS);
    EXPECT_EQ(status.MPI_TAG, 77);
}

// Tasks may write their requests while another thread, such as main, calls it.
TEST_P(tampi, without_wrappers_outside_of_tasks_there_is_nothing_to_wait_for) {
    MPI_Request r = world.start();
    MPI_Request before = r;
    MPI_Status status{};
    status.MPI_TAG = 77;
    EXPECT_EQ(TAMPI_Wait(&r, &status), MPI_SUCCESS);
    EXPECT_EQ(TAMPI_Waitall(1, &r, &status), MPI_SUCCESS);
    EXPECT_EQ(r, before);
    EXPECT_EQ(status.MPI_TAG, 77);
    world.complete(r);
    EXPECT_EQ(MPI_Wait(&before, MPI_STATUS_IGNORE), MPI_SUCCESS);
}

TEST_P(tampi, a_request_of_a_wrapper_outside_of_tasks_can_be_waited_for_on_any_thread) {
    MPI_Request r = world.start();
    EXPECT_EQ(thence_tampi_bind_(MPI_SUCCESS, &r, MPI_STATUS_IGNORE), MPI_SUCCESS);
    world.complete(r, {.tag = 5});
    std::thread([&] {
        MPI_Status status{};
        EXPECT_EQ(TAMPI_Wait(&r, &status), MPI_SUCCESS);
        EXPECT_EQ(status.MPI_TAG, 5);
        EXPECT_EQ(r, MPI_REQUEST_NULL);
    }).join();
}

TEST_P(tampi, wrappers_bind_in_a_task_and_pass_an_error_on) {
    const in_task scope(task_);
    for (auto *wrapper : {&thence_tampi_bind_, &thence_tampi_bind_or_wait_}) {
        MPI_Request r = world.start();
        const ticket t = world.ticket_of(r);
        EXPECT_EQ(wrapper(MPI_SUCCESS, &r, MPI_STATUS_IGNORE), MPI_SUCCESS);
        EXPECT_EQ(r, MPI_REQUEST_NULL);
        EXPECT_EQ(task_.events, 2);
        world.complete(t);
        EXPECT_TRUE(lowered_to(1));
        EXPECT_EQ(wrapper(MPI_ERR_COUNT, &r, MPI_STATUS_IGNORE), MPI_ERR_COUNT);
        EXPECT_EQ(wrapper(MPI_SUCCESS, &r, MPI_STATUS_IGNORE), MPI_SUCCESS); // MPICH 5 refuses in this way
    }
}

TEST_P(tampi, properties_are_as_tampi_has_them) {
    int value = -1;
    for (const int property : {TAMPI_PROPERTY_BLOCKING_MODE, TAMPI_PROPERTY_NONBLOCKING_MODE, TAMPI_PROPERTY_AUTO_INIT,
                               TAMPI_PROPERTY_THREAD_TASKAWARE}) {
        EXPECT_EQ(TAMPI_Property_get(property, &value), MPI_SUCCESS);
        EXPECT_EQ(value, 1);
    }
    EXPECT_EQ(TAMPI_Blocking_enabled(&value), MPI_SUCCESS);
    EXPECT_EQ(value, 1);
    EXPECT_EQ(TAMPI_Nonblocking_enabled(&value), MPI_SUCCESS);
    EXPECT_EQ(value, 1);
    EXPECT_EQ(class_of(TAMPI_Property_get(99, &value)), MPI_ERR_ARG);
    EXPECT_EQ(class_of(TAMPI_Property_get(TAMPI_PROPERTY_AUTO_INIT, nullptr)), MPI_ERR_ARG);
    EXPECT_EQ(class_of(TAMPI_Property_set(99, 1)), MPI_ERR_ARG);
    EXPECT_EQ(class_of(TAMPI_Property_set(TAMPI_PROPERTY_BLOCKING_MODE, 1)), MPI_ERR_ARG);
    EXPECT_EQ(class_of(TAMPI_Property_set(TAMPI_PROPERTY_THREAD_TASKAWARE, 2)), MPI_ERR_ARG);
    EXPECT_EQ(class_of(TAMPI_Property_set(TAMPI_PROPERTY_AUTO_INIT, 0)), MPI_ERR_OTHER);
    EXPECT_EQ(class_of(TAMPI_Blocking_enabled(nullptr)), MPI_ERR_ARG);
    EXPECT_EQ(class_of(TAMPI_Nonblocking_enabled(nullptr)), MPI_ERR_ARG);
    EXPECT_EQ(class_of(TAMPI_Init(MPI_TASK_MULTIPLE, &value)), MPI_ERR_OTHER);
    EXPECT_EQ(class_of(TAMPI_Finalize()), MPI_ERR_OTHER);
    EXPECT_EQ(reported().size(), 10U);
}

THENCE_RULES(tampi);

class tampi_where_mpi_pushes : public tampi {};

// On Open MPI a copy of a handle that is bound is seen: the request has our wait-sync.
TEST_P(tampi_where_mpi_pushes, a_copy_of_a_bound_request_is_refused) {
    const in_task scope(task_);
    MPI_Request r = world.start();
    const ticket t = world.ticket_of(r);
    MPI_Request copy = r;
    std::array<MPI_Request, 2> with_copy{world.start(), copy};
    const ticket other = world.ticket_of(with_copy[0]);
    EXPECT_EQ(TAMPI_Iwait(&r, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(class_of(TAMPI_Iwait(&copy, MPI_STATUS_IGNORE)), MPI_ERR_REQUEST);
    EXPECT_EQ(class_of(TAMPI_Iwaitall(2, with_copy.data(), MPI_STATUSES_IGNORE)), MPI_ERR_REQUEST);
    EXPECT_EQ(reported().size(), 2U);
    EXPECT_EQ(task_.events, 2);
    EXPECT_NE(with_copy[0], MPI_REQUEST_NULL);
    EXPECT_EQ(TAMPI_Iwait(&with_copy[0], MPI_STATUS_IGNORE), MPI_SUCCESS);
    world.complete(t);
    world.complete(other);
    EXPECT_TRUE(lowered_to(1));
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(tampi_where_mpi_pushes); // no such variant with the header of MPICH
THENCE_RULES_WHERE(tampi_where_mpi_pushes, [](const variant &v) { return v.engine == std::string("openmpi"); });

class tampi_modes : public on_fake {};

TEST_P(tampi_modes, need_thread_multiple_and_a_runtime_that_can_block) {
    EXPECT_EQ(thence::tampi::start(MPI_TASK_MULTIPLE, MPI_THREAD_SERIALIZED), MPI_THREAD_SERIALIZED);
    EXPECT_FALSE(thence::tampi::nonblocking);
    EXPECT_EQ(thence::tampi::start(MPI_TASK_MULTIPLE, MPI_THREAD_MULTIPLE), MPI_THREAD_MULTIPLE)
        << "detached tasks cannot be blocked";
    EXPECT_TRUE(thence::tampi::nonblocking);
    EXPECT_FALSE(thence::tampi::blocking);
    thence::tampi::stop();
    EXPECT_EQ(thence_task_runtime_add(&scripted), MPI_SUCCESS);
    EXPECT_EQ(thence::tampi::start(MPI_THREAD_MULTIPLE, MPI_THREAD_MULTIPLE), MPI_THREAD_MULTIPLE);
    EXPECT_FALSE(thence::tampi::blocking);
    thence::tampi::stop();
    EXPECT_EQ(thence_task_runtime_remove(&scripted), MPI_SUCCESS);
    const thence_task_runtime *left = nullptr;
    EXPECT_EQ(thence_task_runtime_get(0, &left), MPI_SUCCESS);
    EXPECT_EQ(left, nullptr) << "the library removes what it has added";
}

THENCE_RULES(tampi_modes);

} // namespace
