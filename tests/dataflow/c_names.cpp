// SPDX-License-Identifier: BSD-3-Clause
// The C names mean the same; their codes.
#include "support.hpp"

#include <thence/dataflow.h>

#include <cerrno>
#include <string>

namespace {

void nothing(void *) {}

TEST(c_names, tasks_follow_their_accesses) {
    struct state {
        int x = 0;
        int y = 0;
    } all;
    const thence_flow_access first[] = {{&all.x, THENCE_FLOW_OUT}};
    const thence_flow_access second[] = {{&all.x, THENCE_FLOW_IN}, {&all.y, THENCE_FLOW_OUT}};
    const thence_flow_options options{1, "first", [](void *data) { static_cast<state *>(data)->x = 1; }, &all};
    ASSERT_EQ(thence_flow_submit(
                  1, first, [](void *data) { static_cast<state *>(data)->x += 1; }, &all, &options),
              0);
    ASSERT_EQ(thence_flow_submit(
                  2, second, [](void *data) { static_cast<state *>(data)->y = static_cast<state *>(data)->x + 1; },
                  &all, nullptr),
              0);
    const thence_flow_access on[] = {{&all.y, THENCE_FLOW_IN}};
    EXPECT_EQ(thence_flow_taskwait_on(1, on), 0);
    EXPECT_EQ(all.y, 3);
    EXPECT_EQ(thence_flow_taskwait(), 0);
    EXPECT_GE(thence_flow_workers(), 1);
}

TEST(c_names, many_accesses) {
    std::vector<int> data(100);
    std::vector<thence_flow_access> all;
    for (int &each : data) {
        all.push_back({&each, THENCE_FLOW_INOUT});
    }
    EXPECT_EQ(thence_flow_submit(
                  all.size(), all.data(), [](void *one) { ++*static_cast<int *>(one); }, data.data(), nullptr),
              0);
    EXPECT_EQ(thence_flow_taskwait(), 0);
    EXPECT_EQ(data[0], 1);
}

TEST(c_names, bad_arguments_are_refused) {
    int x = 0;
    const thence_flow_access bad[] = {{&x, static_cast<thence_flow_kind>(5)}};
    EXPECT_EQ(thence_flow_submit(0, nullptr, nullptr, nullptr, nullptr), EINVAL);
    EXPECT_EQ(thence_flow_submit(1, nullptr, nothing, nullptr, nullptr), EINVAL);
    EXPECT_EQ(thence_flow_submit(1, bad, nothing, nullptr, nullptr), EINVAL);
    EXPECT_EQ(thence_flow_taskwait_on(1, nullptr), EINVAL);
    EXPECT_EQ(thence_flow_spawn(nullptr, nullptr, nullptr, nullptr, nullptr), EINVAL);
    EXPECT_EQ(thence_flow_report(nullptr, nullptr), EINVAL);
    EXPECT_EQ(thence_flow_current(), nullptr);
    EXPECT_EQ(thence_flow_block(nullptr), EPERM);
    EXPECT_EQ(thence_flow_block(&x), EPERM);
    EXPECT_EQ(thence_flow_unblock(nullptr), EINVAL);
    EXPECT_EQ(thence_flow_raise(nullptr, 1), EINVAL);
    EXPECT_EQ(thence_flow_lower(nullptr, 1), EINVAL);
    EXPECT_EQ(thence_flow_taskwait(), 0);
}

TEST(c_names, a_spawned_task_completes_after_its_events_and_no_taskwait_waits_for_it) {
    struct state {
        std::atomic<void *> task{nullptr};
        std::atomic<bool> completed{false};
    } all;
    const auto body = [](void *data) {
        void *const self = thence_flow_current();
        EXPECT_EQ(thence_flow_raise(self, 2), 0);
        EXPECT_EQ(thence_flow_lower(self, 3), EINVAL);
        EXPECT_EQ(thence_flow_unblock(self), 0);
        EXPECT_EQ(thence_flow_unblock(self), EALREADY);
        EXPECT_EQ(thence_flow_block(self), 0);
        std::uint64_t slept = 0;
        EXPECT_EQ(thence_flow_sleep_for(1000, &slept), 0);
        EXPECT_GE(slept, 1000U);
        static_cast<state *>(data)->task = self;
    };
    ASSERT_EQ(thence_flow_spawn(
                  body, &all, [](void *data) { static_cast<state *>(data)->completed = true; }, &all, "spawned"),
              0);
    test::wait_until([&] { return all.task.load() != nullptr; });
    EXPECT_EQ(thence_flow_raise(all.task, 1), EPERM);
    EXPECT_EQ(thence_flow_taskwait(), 0);
    EXPECT_FALSE(all.completed);
    std::string text;
    const auto tell = [](const thence_flow_waiting *one, void *data) {
        *static_cast<std::string *>(data) += std::string(one->label) + " " + one->state;
    };
    test::wait_until([&] {
        text.clear();
        EXPECT_EQ(thence_flow_report(tell, &text), 0);
        return text == "spawned has ended and waits for its events";
    });
    EXPECT_EQ(thence_flow_lower(all.task, 2), 0);
    test::wait_until([&] { return all.completed.load(); });
}

// What the task waits for happens only in the poll, and a second task becomes ready there.
TEST(c_names, idle_workers_poll) {
    static std::atomic<void *> waits{nullptr};
    static std::atomic<int> polls{0};
    int data = 0;
    const thence_flow_access access[] = {{&data, THENCE_FLOW_INOUT}};
    const auto raises = [](void *) {
        void *const self = thence_flow_current();
        EXPECT_EQ(thence_flow_raise(self, 1), 0);
        waits = self;
    };
    thence_flow_on_idle([]() -> int {
        void *const task = ++polls % 3 == 0 ? waits.exchange(nullptr) : nullptr;
        if (task != nullptr) {
            EXPECT_EQ(thence_flow_lower(task, 1), 0);
        }
        return 1;
    });
    ASSERT_EQ(thence_flow_submit(1, access, raises, nullptr, nullptr), 0);
    ASSERT_EQ(thence_flow_submit(
                  1, access, [](void *one) { ++*static_cast<int *>(one); }, &data, nullptr),
              0);
    EXPECT_EQ(thence_flow_taskwait(), 0);
    EXPECT_EQ(data, 1);
    EXPECT_GE(polls, 3);
    thence_flow_on_idle(nullptr);
}

TEST(c_names, an_error_of_an_event_is_told_by_taskwait) {
    const auto body = [](void *) {
        void *const self = thence_flow_current();
        EXPECT_EQ(thence_flow_raise(self, 1), 0);
        EXPECT_EQ(thence_flow_lower_error(self, 1, 42), 0);
    };
    ASSERT_EQ(thence_flow_submit(0, nullptr, body, nullptr, nullptr), 0);
    EXPECT_EQ(thence_flow_taskwait(), EIO);
    EXPECT_EQ(thence_flow_failure(), 42);
    EXPECT_EQ(thence_flow_taskwait(), 0);
}

TEST(c_names, onready_must_not_submit_or_wait) {
    const auto onready = [](void *) {
        EXPECT_EQ(thence_flow_submit(0, nullptr, nothing, nullptr, nullptr), EPERM);
        EXPECT_EQ(thence_flow_taskwait(), EPERM);
        EXPECT_EQ(thence_flow_taskwait_on(0, nullptr), EPERM);
        EXPECT_EQ(thence_flow_block(thence_flow_current()), EPERM);
    };
    const thence_flow_options options{0, nullptr, onready, nullptr};
    ASSERT_EQ(thence_flow_submit(0, nullptr, nothing, nullptr, &options), 0);
    EXPECT_EQ(thence_flow_taskwait(), 0);
}

} // namespace
